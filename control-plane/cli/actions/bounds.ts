import { z } from 'zod'
import { dollars, duration, instant } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { argument, isSet, textOption, wholeOption } from '#control-plane/cli/read-options.ts'
import { nextPage } from './account.ts'

const Cap = z.looseObject({
  cap_usdc: z.string(),
  left_usdc: z.string(),
  is_refusing: z.boolean(),
  runs_out_at: z.number().nullable(),
})
const Caps = z.looseObject({
  credit_balance_usdc: z.string(),
  held_usdc: z.string(),
  keys: z.array(
    z.looseObject({
      key_id: z.string(),
      label: z.string(),
      binds: z.string(),
      daily: Cap.nullable(),
      monthly: Cap.nullable(),
    }),
  ),
})

const leftOf = (cap: z.output<typeof Cap> | null) =>
  cap === null ? null : `${dollars(cap.left_usdc)} of ${dollars(cap.cap_usdc)}${cap.is_refusing ? ', refusing' : ''}`

export const listCaps: Action = async ({ connection }) => {
  const caps = readAnswer(Caps, await connection.call('GET', '/v1/buyer/caps', { side: 'buyer' }))
  const balance = facts({ spendable: dollars(caps.credit_balance_usdc), held: dollars(caps.held_usdc) })
  const rows = table(caps.keys, [
    { title: 'KEY', value: (key) => key.key_id },
    { title: 'LABEL', value: (key) => key.label },
    { title: 'LEFT TODAY', value: (key) => leftOf(key.daily) },
    { title: 'LEFT THIS MONTH', value: (key) => leftOf(key.monthly) },
    { title: 'BINDS', value: (key) => key.binds },
    { title: 'RUNS OUT', value: (key) => instant(key.daily?.runs_out_at ?? key.monthly?.runs_out_at) },
  ])
  return { json: caps, blocks: [balance, rows] }
}

const Job = z.looseObject({
  id: z.string(),
  model: z.string(),
  kind: z.string(),
  state: z.string(),
  submitted_at: z.number(),
  deadline_at: z.number(),
  quote_micro: z.string(),
  charge_micro: z.string().nullable(),
  unit: z.string().nullable(),
  units: z.number().nullable(),
  artifacts: z.number().nullable(),
})
const Jobs = z.looseObject({ items: z.array(Job), next_token: z.string().nullable() })
type Job = z.output<typeof Job>

export const listJobs: Action = async ({ connection }, { options }) => {
  const query = {
    state: isSet(options, 'running') ? 'running' : undefined,
    max_items: wholeOption(options, 'limit', { min: 1, max: 100 }),
    next_token: textOption(options, 'nextToken'),
  }
  const page = readAnswer(Jobs, await connection.call('GET', '/v1/buyer/jobs', { side: 'buyer', query }))
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
      { title: 'SUBMITTED', value: (job) => instant(job.submitted_at) },
      {
        title: 'TIME LEFT',
        value: (job) => (job.state === 'running' ? duration(Math.max(0, job.deadline_at - now)) : null),
      },
      { title: 'SET ASIDE', alignsRight: true, value: (job) => dollars(job.quote_micro) },
      { title: 'PAID', alignsRight: true, value: (job) => dollars(job.charge_micro) },
    ],
    'No long jobs.',
  )
  return { json: page, blocks: [rows, ...nextPage(page.next_token)] }
}

function usedBy({ unit, units }: Job): string | null {
  return unit === null || units === null ? null : `${units} ${unit}`
}

export const cancelJob: Action = async ({ connection }, given) => {
  const path = `/v1/buyer/jobs/${encodeURIComponent(argument(given))}`
  const job = readAnswer(Job, await connection.call('DELETE', path, { side: 'buyer' }))
  return { json: job, blocks: [text(`${job.model}: ${job.state}`)] }
}
