import { instant, percent, perMillion } from '#control-plane/cli/amounts.ts'
import type { Action, Cli, CommandInput, CommandOptions } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import type { Answers } from '#control-plane/cli/market-client.ts'
import type { OutputBlock, TableCell } from '#control-plane/cli/output.ts'
import { renderBlocks, table, text } from '#control-plane/cli/output.ts'
import { isSet, listOption, textOption } from '#control-plane/cli/read-options.ts'
import { isRecord } from '#shared/json-members.ts'
import { importRows, readRows } from './operator-import.ts'

type Report = Answers['catalog']['compare']
type ProviderRow = Answers['provider']['compare'][number]

/** Shows what the data of this release would change in the catalogue, and changes it after a yes. */
export const refreshCatalog: Action = async (cli, given) => {
  const { options } = given
  const report = await compare(cli, options)
  const { shown, isDone } = await ask(cli, options, {
    blocks: reportBlocks(report),
    question: 'Refresh the catalogue?',
    isNothing: isNothing(report),
  })
  const refreshed = isDone ? await refresh(cli, options) : null
  const done = refreshed === null ? [] : [text(`Refreshed: ${summary(refreshed)}`)]
  const list = textOption(options, 'list')
  if (list === undefined) return { json: { ...report, refreshed }, blocks: [...shown, ...done], ...exitOf(report) }
  const rest = await importRest(cli, given, { path: list, known: report.known })
  return { ...rest, json: { ...report, refreshed, list: rest.json }, blocks: [...shown, ...done, ...rest.blocks] }
}

/** Fills a market with the providers, models and prices that this release knows. Existing records stay. */
export const setUp: Action = async (cli, { options }) => {
  const providers = await cli.connection.as('operator', (client) => client.provider.compare.query({}))
  const report = await compare(cli, options)
  const isOverwriting = isSet(options, 'overwrite')
  const due = providers.filter(({ state }) => state === 'missing' || (isOverwriting && state === 'own'))
  const { shown, isDone } = await ask(cli, options, {
    blocks: [...providerBlocks(providers), ...reportBlocks(report)],
    question: 'Set up the market?',
    isNothing: due.length === 0 && isNothing(report),
  })
  if (!isDone) return { json: { providers, catalog: report, done: null }, blocks: shown, ...exitOf(report) }
  for (const { provider } of due) {
    // The host follows from the base URL.
    const { host: _host, ...input } = provider
    await cli.connection.as('operator', (client) => client.provider.put.mutate(input))
  }
  const refreshed = await refresh(cli, options)
  const done = { providers: due.map(({ provider }) => provider.id), catalog: refreshed }
  const message = text(`Set up: ${due.length} providers; ${summary(refreshed)}`)
  return { json: { providers, catalog: report, done }, blocks: [...shown, message], ...exitOf(refreshed) }
}

/** The rows of a list whose models the data of this release does not have. */
async function importRest(
  cli: Cli,
  { options }: CommandInput,
  { path, known }: { readonly path: string; readonly known: readonly string[] },
) {
  const names = new Set(known)
  const rows = await readRows(cli, path)
  const isKnown = (row: unknown) =>
    isRecord(row) && typeof row['id'] === 'string' && names.has(row['id'].slice(row['id'].indexOf('/') + 1))
  return importRows(cli, { rows: rows.filter((row) => !isKnown(row)), options })
}

function compare({ connection }: Cli, options: CommandOptions): Promise<Report> {
  return connection.as('operator', (client) => client.catalog.compare.query(terms(options)))
}

function refresh({ connection }: Cli, options: CommandOptions): Promise<Report> {
  return connection.as('operator', (client) => client.catalog.refresh.mutate(terms(options)))
}

function terms(options: CommandOptions) {
  const accept = listOption(options, 'accept') ?? []
  return { overwrite: isSet(options, 'overwrite'), accept: accept.includes('all') ? ('all' as const) : accept }
}

type Proposal = { readonly blocks: OutputBlock[]; readonly question: string; readonly isNothing: boolean }

/** Shows the difference before it asks. A difference that was already shown is not shown again. */
async function ask(cli: Cli, options: CommandOptions, { blocks, question, isNothing: hasNothing }: Proposal) {
  if (isSet(options, 'dryRun') || hasNothing) return { shown: blocks, isDone: false }
  const isConfirmed = isSet(options, 'yes')
  const isShown = !isConfirmed && cli.terminal.canAsk
  if (isShown) cli.terminal.err(`${renderBlocks(blocks, cli.terminal.looks)}\n`)
  await confirm(cli, question, isConfirmed)
  return { shown: isShown ? [] : blocks, isDone: true }
}

function isNothing({ changes, moved }: Report): boolean {
  return changes.length === 0 && moved.length === 0
}

/** The exit code reports a partial result when rows were refused or models wait. */
function exitOf({ rejected, unread }: Report) {
  return rejected.length + unread.length === 0 ? {} : { exit: 'partial' as const }
}

function summary({ models, added, changes, moved, waiting }: Report): string {
  const changed = changes.length - added.length
  return `${models} models known, ${added.length} new, ${changed} changed, ${moved.length} prices moved, ${waiting.length} waiting.`
}

function reportBlocks(report: Report): OutputBlock[] {
  const { added, moved, waiting, gone, unread, rejected } = report
  const refused = [
    ...unread,
    ...rejected.map(({ id, field, message }) => ({ model: id, message: [field, message].filter(Boolean).join(': ') })),
  ]
  return [
    ...tableOf(added, [
      { title: 'NEW MODEL', value: ({ model }) => model },
      { title: 'SOURCE', value: ({ source }) => source },
    ]),
    ...tableOf(moved, [
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'CLASS', value: ({ line }) => line },
      { title: 'IS PER 1M', alignsRight: true, value: ({ before }) => perMillion(before) },
      { title: 'BECOMES', alignsRight: true, value: ({ after }) => perMillion(after) },
      { title: 'BY', alignsRight: true, value: (move) => percent(move.percent) },
      { title: 'FROM', value: ({ effectiveAt }) => instant(effectiveAt) ?? 'now' },
      { title: 'SOURCE', value: ({ source }) => source },
    ]),
    ...tableOf(waiting, [
      { title: 'STAYS', value: ({ model }) => model },
      { title: 'BECAUSE', value: ({ why }) => WAITS[why] },
      { title: 'SOURCE', value: ({ source }) => source },
    ]),
    ...tableOf(gone, [
      { title: 'NO LONGER KNOWN', value: ({ model }) => model },
      { title: 'SOURCE', value: ({ source }) => source },
    ]),
    ...tableOf(refused, [
      { title: 'REFUSED', value: ({ model }) => model },
      { title: 'LINE', value: ({ message }) => message },
    ]),
    text(summary(report)),
  ]
}

const WAITS = {
  own_prices: 'an operator set its prices: --overwrite replaces them',
  large_move: 'a price changes by more than a factor of two: name the model with --accept',
} as const

function providerBlocks(providers: readonly ProviderRow[]): OutputBlock[] {
  const open = providers.filter(({ state }) => state !== 'same')
  return tableOf(open, [
    { title: 'PROVIDER', value: ({ provider }) => provider.id },
    { title: 'BASE URL', value: ({ provider }) => provider.baseUrl },
    { title: 'TRUSTED', value: ({ provider }) => (provider.isTrusted ? 'yes' : 'no') },
    {
      title: 'STATE',
      value: ({ state, differs }) => (state === 'missing' ? 'new' : `stays: differs in ${differs.join(', ')}`),
    },
  ])
}

/** An empty list has no heading. */
function tableOf<Row>(rows: readonly Row[], cells: readonly TableCell<Row>[]): OutputBlock[] {
  return rows.length === 0 ? [] : [table(rows, cells)]
}
