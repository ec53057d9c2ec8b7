import { dollars, duration, instant } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import type { Answers } from '#control-plane/cli/market-client.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { argument, isSet, pageOf } from '#control-plane/cli/read-options.ts'
import { toSnakeBody } from '#shared/field-names.ts'
import { nextPage } from './account.ts'

type Cap = Answers['cap']['list']['keys'][number]['daily']
const leftOf = (cap: Cap) =>
  cap === null ? null : `${dollars(cap.leftUsdc)} of ${dollars(cap.capUsdc)}${cap.isRefusing ? ', refusing' : ''}`

export const listCaps: Action = async ({ connection }) => {
  const caps = await connection.as('buyer', (client) => client.cap.list.query())
  const balance = facts({ spendable: dollars(caps.creditBalanceUsdc), held: dollars(caps.heldUsdc) })
  const rows = table(caps.keys, [
    { title: 'KEY', value: (key) => key.keyId },
    { title: 'LABEL', value: (key) => key.label },
    { title: 'LEFT TODAY', value: (key) => leftOf(key.daily) },
    { title: 'LEFT THIS MONTH', value: (key) => leftOf(key.monthly) },
    { title: 'BINDS', value: (key) => key.binds },
    { title: 'RUNS OUT', value: (key) => instant(key.daily?.runsOutAt ?? key.monthly?.runsOutAt) },
  ])
  return { json: toSnakeBody(caps), blocks: [balance, rows] }
}

export const listJobs: Action = async ({ connection }, { options }) => {
  const input = { ...pageOf(options), ...(isSet(options, 'running') ? { state: 'running' as const } : {}) }
  const page = await connection.as('buyer', (client) => client.job.list.query(input))
  const now = Date.now()
  const rows = table(
    page.items,
    [
      { title: 'JOB', value: (job) => job.id },
      { title: 'MODEL', value: (job) => job.model },
      { title: 'KIND', value: (job) => job.kind },
      { title: 'STATE', value: (job) => job.state },
      { title: 'USED', value: (job) => usedBy(job) },
      { title: 'FILES', alignsRight: true, value: (job) => job.artifacts?.toString() ?? null },
      { title: 'SUBMITTED', value: (job) => instant(job.submittedAt) },
      {
        title: 'TIME LEFT',
        value: (job) => (job.state === 'running' ? duration(Math.max(0, job.deadlineAt - now)) : null),
      },
      { title: 'SET ASIDE', alignsRight: true, value: (job) => dollars(job.quoteMicro) },
      { title: 'PAID', alignsRight: true, value: (job) => dollars(job.chargeMicro) },
    ],
    'No long jobs.',
  )
  return { json: toSnakeBody(page), blocks: [rows, ...nextPage(page.nextToken)] }
}

function usedBy({ unit, units }: Answers['job']['cancel']): string | null {
  return unit === null || units === null ? null : `${units} ${unit}`
}

export const cancelJob: Action = async ({ connection }, given) => {
  const job = await connection.as('buyer', (client) => client.job.cancel.mutate({ id: argument(given) }))
  return { json: toSnakeBody(job), blocks: [text(`${job.model}: ${job.state}`)] }
}
