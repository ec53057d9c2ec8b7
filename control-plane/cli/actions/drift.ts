import { readFileSync, statSync } from 'node:fs'
import { count, percent } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { readSecretVariable } from '#control-plane/cli/config.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { argument, isSet, requiredOption, textOption, wholeOption } from '#control-plane/cli/read-options.ts'
import { readSecretIn } from '#control-plane/cli/secret-files.ts'
import { toSnakeBody } from '#shared/field-names.ts'

/** The service takes files of half a million characters. */
const MAX_FILE_BYTES = 2_000_000

/** A decimal of US dollars with at least two decimals. */
function usd(amount: string): string {
  const [whole = '0', fraction = ''] = amount.replace(/^-/, '').split('.')
  return `${amount.startsWith('-') ? '-' : ''}$${whole}.${fraction.padEnd(2, '0')}`
}

const shownPercent = (value: number | null) => (value === null ? null : percent(value))

type Stored = {
  readonly lines: number
  readonly firstDay: string
  readonly lastDay: string
  readonly billedUsd: string
}

const storedLine = ({ lines, firstDay, lastDay, billedUsd }: Stored) =>
  text(`${count(lines)} lines from ${firstDay} to ${lastDay} are stored: ${usd(billedUsd)}.`)

/** Imports a provider's bill from a file. */
export const importBill: Action = async ({ connection }, given) => {
  const path = argument(given)
  const found = path === '-' ? undefined : statSync(path, { throwIfNoEntry: false })
  if (path !== '-' && found?.isFile() !== true) throw usageError(`There is no file ${path}.`)
  if ((found?.size ?? 0) > MAX_FILE_BYTES) throw usageError(`${path} is longer than a bill may be.`)
  const file = readFileSync(path === '-' ? 0 : path, 'utf8')
  const input = { provider: requiredOption(given.options, 'provider'), file }
  const stored = await connection.as('seller', (client) => client.bill.import.mutate(input))
  return { json: toSnakeBody(stored), blocks: [storedLine(stored)] }
}

/** Fetches a provider's bill with an admin key. */
export const fetchBill: Action = async ({ connection }, { options }) => {
  const [variable, file] = [textOption(options, 'keyEnv'), textOption(options, 'keyFrom')]
  if ((variable === undefined) === (file === undefined)) throw usageError('Pass --key-env or --key-from.')
  const key = file === undefined ? readSecretVariable(variable ?? '') : readSecretIn(file)
  if (key === undefined) throw usageError(`The variable ${variable} is not set.`)
  const days = wholeOption(options, 'days', { min: 1, max: 90 })
  const input = { provider: requiredOption(options, 'provider'), adminKey: key.reveal(), ...(days && { days }) }
  const stored = await connection.as('seller', (client) => client.bill.fetch.mutate(input))
  return { json: toSnakeBody(stored), blocks: [storedLine(stored)] }
}

/** Removes stored bills of a provider. */
export const removeBill: Action = async (cli, { options }) => {
  const [from, to] = ['from', 'to'].map((name) => textOption(options, name))
  const provider = requiredOption(options, 'provider')
  const days =
    from === undefined && to === undefined ? 'all days' : `${from ?? 'the first day'} to ${to ?? 'the last day'}`
  await confirm(cli, `Remove the bills of ${provider} of ${days}?`, isSet(options, 'yes'))
  const input = { provider, ...(from && { from }), ...(to && { to }) }
  const removed = await cli.connection.as('seller', (client) => client.bill.remove.mutate(input))
  return { json: toSnakeBody(removed), blocks: [text(`${count(removed.lines)} lines are removed.`)] }
}

/** Shows bills beside the list cost of the same calls. */
export const showDrift: Action = async ({ connection }, { options }) => {
  const [from, to, provider] = ['from', 'to', 'provider'].map((name) => textOption(options, name))
  const input = { ...(from && { from }), ...(to && { to }), ...(provider && { provider }) }
  const drift = await connection.as('seller', (client) => client.drift.read.query(input))
  const sums = facts({
    days: `${drift.from} to ${drift.to}`,
    billed: usd(drift.billedUsd),
    list: usd(drift.listUsd),
    difference: usd(drift.differenceUsd),
  })
  const rows = table(
    drift.rows,
    [
      { title: 'DAY', value: ({ day }) => day },
      { title: 'PROVIDER', value: (row) => row.provider },
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'PART', value: ({ billedClass }) => billedClass },
      { title: 'BILLED', alignsRight: true, value: (row) => usd(row.billedUsd) },
      { title: 'LIST', alignsRight: true, value: (row) => usd(row.listUsd) },
      { title: 'OFF', alignsRight: true, value: (row) => shownPercent(row.differencePct) },
      { title: 'CALLS', alignsRight: true, value: ({ calls }) => count(calls) },
      { title: 'LIKELY CAUSE', value: ({ cause }) => cause },
    ],
    'No bills in this period.',
  )
  const stated = table(
    drift.stated,
    [
      { title: 'PROVIDER', value: (row) => row.provider },
      { title: 'STATED', alignsRight: true, value: ({ statedUsd }) => usd(statedUsd) },
      { title: 'LIST', alignsRight: true, value: (row) => usd(row.listUsd) },
      { title: 'OFF', alignsRight: true, value: (row) => shownPercent(row.differencePct) },
      { title: 'CALLS', alignsRight: true, value: ({ calls }) => count(calls) },
    ],
    'No answers with their own cost.',
  )
  return { json: toSnakeBody(drift), blocks: [sums, rows, stated] }
}

/** Shows operators the providers whose bills or answers differ from the list. */
export const showProviderDrift: Action = async ({ connection }, { options }) => {
  const [from, to] = ['from', 'to'].map((name) => textOption(options, name))
  const abovePct = wholeOption(options, 'above', { min: 0, max: 100 })
  const input = { ...(from && { from }), ...(to && { to }), ...(abovePct === undefined ? {} : { abovePct }) }
  const drift = await connection.as('operator', (client) => client.drift.providers.query(input))
  const rows = table(
    drift,
    [
      { title: 'PROVIDER', value: (row) => row.provider },
      { title: 'BY', value: ({ source }) => source },
      { title: 'SELLERS', alignsRight: true, value: ({ sellers }) => sellers },
      { title: 'BILLED', alignsRight: true, value: (row) => usd(row.billedUsd) },
      { title: 'LIST', alignsRight: true, value: (row) => usd(row.listUsd) },
      { title: 'OFF', alignsRight: true, value: (row) => shownPercent(row.differencePct) },
      { title: 'CALLS', alignsRight: true, value: ({ calls }) => count(calls) },
    ],
    'No provider differs from the list.',
  )
  return { json: toSnakeBody(drift), blocks: [rows] }
}
