import { readFileSync, statSync } from 'node:fs'
import type { Action, Cli, CommandOptions } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import type { CommandOutput, OutputBlock } from '#control-plane/cli/output.ts'
import { renderBlocks, table, text } from '#control-plane/cli/output.ts'
import { startProgress } from '#control-plane/cli/progress.ts'
import { argument, instantOption, isSet, requiredOption } from '#control-plane/cli/read-options.ts'
import type { ImportPart } from '#shared/catalog/import-parts.ts'
import { catalogueModels, importParts } from '#shared/catalog/import-parts.ts'
import { parseJson } from '#shared/parse-json.ts'
import { shownValue } from './operator-catalog.ts'

const MAX_FILE_BYTES = 64_000_000
/** The effect of an import on a model, and the rows that it would refuse, in the service's words. */
type Change = {
  readonly model: string
  readonly kind: 'added' | 'changed'
  readonly fields: readonly { readonly field: string; readonly before?: unknown; readonly after?: unknown }[]
}
type Rejected = {
  readonly index: number
  readonly id: string | null
  readonly field: string | null
  readonly message: string
}

/** The models of a catalogue's file. Throws a usage error for a file that is none. */
export async function readRows({ terminal }: Cli, path: string): Promise<readonly unknown[]> {
  const body = path === '-' ? await terminal.readInput(MAX_FILE_BYTES) : readFile(path)
  const parsed = parseJson(body)
  if (parsed === undefined) throw usageError(`${path} is not JSON.`)
  const rows = catalogueModels(parsed)
  if (rows === undefined) throw usageError(`${path} holds no list of models.`)
  return rows
}

function readFile(path: string): string {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile()) throw usageError(`There is no file ${path}.`)
  if (found.size > MAX_FILE_BYTES) throw usageError(`${path} is longer than ${MAX_FILE_BYTES} bytes.`)
  return readFileSync(path, 'utf8')
}

/** Shows what a list of models would change, and changes it after a yes. */
export const importCatalog: Action = async (cli, given) =>
  importRows(cli, { rows: await readRows(cli, argument(given)), options: given.options })

/** Shows what rows of a list would change, and changes it after a yes. */
export async function importRows(
  cli: Cli,
  { rows, options }: { readonly rows: readonly unknown[]; readonly options: CommandOptions },
): Promise<CommandOutput> {
  const parts = importParts(rows)
  const at = instantOption(options, 'effectiveAt')
  const timing = at === undefined ? {} : { effectiveAt: at }
  const isDry = isSet(options, 'dryRun')
  const source = isDry ? '' : requiredOption(options, 'source')
  const compared = await inParts(cli, parts, 'Comparing', (models) =>
    cli.connection.as('operator', (client) => client.catalog.diff.query({ models, ...timing })),
  )
  const changes = compared.flatMap(({ answer }) => answer.changes)
  const impacts = compared.flatMap(({ answer }) => answer.impacts)
  const rejected = compared.flatMap(({ from, answer }) =>
    answer.rejected.map((row) => ({ ...row, index: row.index + from })),
  )
  const models = compared.reduce((sum, { answer }) => sum + answer.models, 0)
  const report = { models, changes, impacts, rejected }
  const shown = [changeTable(changes), ...impactTable(impacts), ...rejectedTable(rejected), text(summary(report))]
  const exit = rejected.length === 0 ? {} : { exit: 'partial' as const }
  if (isDry || changes.length === 0) return { json: { ...report, imported: null }, blocks: shown, ...exit }

  const isConfirmed = isSet(options, 'yes')
  if (!isConfirmed && cli.terminal.canAsk) cli.terminal.err(`${renderBlocks(shown, cli.terminal.looks)}\n`)
  await confirm(cli, `Import from "${source}"?`, isConfirmed)
  const reports = await inParts(cli, parts, 'Importing', (models) =>
    cli.connection.as('operator', (client) => client.catalog.import.mutate({ source, models, ...timing })),
  )
  const sum = (of: (report: Counts) => number) => reports.reduce((total, { answer }) => total + of(answer), 0)
  const imported = {
    added: sum(({ added }) => added),
    changed: sum(({ changed }) => changed),
    repriced: sum(({ repriced }) => repriced),
    takenNames: reports.flatMap(({ answer }) => answer.takenNames),
  }
  const counts = `${imported.added} added, ${imported.changed} changed, ${imported.repriced} with new prices`
  const done = text(`Imported: ${counts}.`)
  return { json: { ...report, imported }, blocks: isConfirmed ? [...shown, done] : [done], ...exit }
}

type Impact = {
  readonly model: string
  readonly offers: number
  readonly sellers: number
  readonly buyers: number
}

/** The models whose change affects offers or buyers. */
function impactTable(impacts: readonly Impact[]): OutputBlock[] {
  const touched = impacts.filter(({ offers, buyers }) => offers + buyers > 0)
  if (touched.length === 0) return []
  return [
    table(touched, [
      { title: 'TOUCHES', value: ({ model }) => model },
      { title: 'OFFERS', alignsRight: true, value: ({ offers }) => offers },
      { title: 'SELLERS', alignsRight: true, value: ({ sellers }) => sellers },
      { title: 'BUYERS 30 D', alignsRight: true, value: ({ buyers }) => buyers },
    ]),
  ]
}

type Counts = { readonly added: number; readonly changed: number; readonly repriced: number }
type Report = { readonly models: number; readonly changes: readonly Change[]; readonly rejected: readonly Rejected[] }

function summary({ models, changes, rejected }: Report): string {
  const added = changes.filter(({ kind }) => kind === 'added').length
  const same = models - changes.length
  return `${added} new, ${changes.length - added} changed, ${same} as they are, ${rejected.length} rows not taken.`
}

type Answered<Answer> = { readonly from: number; readonly answer: Answer }

async function inParts<Answer>(
  { terminal, isJson }: Cli,
  parts: readonly ImportPart[],
  label: string,
  ask: (models: unknown[]) => Promise<Answer>,
): Promise<Answered<Answer>[]> {
  const total = parts.reduce((sum, { models }) => sum + models.length, 0)
  const progress = startProgress(terminal, {
    label,
    isQuiet: isJson || parts.length === 1,
    now: () => performance.now(),
  })
  const answers: Answered<Answer>[] = []
  try {
    for (const { from, models } of parts) {
      answers.push({ from, answer: await ask([...models]) })
      progress.update(from + models.length, total)
    }
  } finally {
    progress.end()
  }
  return answers
}

function changeTable(changes: readonly Change[]): OutputBlock {
  const rows = changes.flatMap(({ model, fields }) => fields.map((change) => ({ model, ...change })))
  return table(
    rows,
    [
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'FIELD', value: ({ field }) => field },
      { title: 'IS', value: ({ field, before }) => shownValue(field, before) },
      { title: 'BECOMES', value: ({ field, after }) => shownValue(field, after) },
    ],
    'Nothing changes.',
  )
}

function rejectedTable(rejected: readonly Rejected[]): OutputBlock[] {
  if (rejected.length === 0) return []
  const cells = [
    { title: 'ROW', alignsRight: true, value: ({ index }: Rejected) => index + 1 },
    { title: 'MODEL', value: ({ id }: Rejected) => id },
    {
      title: 'NOT TAKEN BECAUSE',
      value: ({ field, message }: Rejected) => [field, message].filter(Boolean).join(': '),
    },
  ]
  return [table(rejected, cells)]
}
