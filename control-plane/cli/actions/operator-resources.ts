import { readFileSync, statSync } from 'node:fs'
import { instant } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { confirm } from '#control-plane/cli/confirm.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import type { OutputBlock } from '#control-plane/cli/output.ts'
import { renderBlocks, table, text } from '#control-plane/cli/output.ts'
import { argument, isSet, requiredOption } from '#control-plane/cli/read-options.ts'
import type { ResourceInput } from '#shared/catalog/resources.ts'
import { ResourceSchema } from '#shared/catalog/resources.ts'

const MAX_FILE_BYTES = 1_000_000

export const listResources: Action = async ({ connection }) => {
  const found = await connection.as('operator', (client) => client.resource.list.query())
  const rows = table(
    found,
    [
      { title: 'ID', value: ({ id }) => id },
      { title: 'KIND', value: ({ kind }) => kind },
      { title: 'NAME', value: ({ name }) => name },
      { title: 'VERSION', alignsRight: true, value: ({ version }) => String(version) },
      { title: 'ON', value: ({ isOn }) => (isOn ? 'yes' : 'no') },
      { title: 'LENT KEYS', alignsRight: true, value: ({ activeOffers }) => String(activeOffers) },
    ],
    'No resources.',
  )
  return { json: found, blocks: [rows] }
}

/** Shows what a record would change, and stores it after a yes. */
export const putResource: Action = async (cli, given) => {
  const { options } = given
  const record = readRecord(argument(given))
  const isDry = isSet(options, 'dryRun')
  const source = isDry ? '' : requiredOption(options, 'source')
  const preview = await cli.connection.as('operator', (client) => client.resource.preview.query({ record }))
  const hosts = preview.newHosts.length === 0 || preview.activeOffers === 0 ? [] : [warning(preview)]
  const shown = [changeTable(preview.changes), ...hosts]
  if (isDry || preview.changes.length === 0) return { json: { preview, put: null }, blocks: shown }
  const isConfirmed = isSet(options, 'yes')
  if (!isConfirmed && cli.terminal.canAsk) cli.terminal.err(`${renderBlocks(shown, cli.terminal.looks)}\n`)
  await confirm(cli, `Store this record of ${preview.id} from "${source}"?`, isConfirmed)
  const { version } = preview
  const put = await cli.connection.as('operator', (client) => client.resource.put.mutate({ record, source, version }))
  const done = text(`${put.id} is in version ${put.version}.`)
  return { json: { preview, put }, blocks: isConfirmed ? [...shown, done] : [done] }
}

export const showResourceHistory: Action = async ({ connection }, given) => {
  const id = argument(given)
  const versions = await connection.as('operator', (client) => client.resource.history.query({ id }))
  const rows = versions.flatMap(({ changes, ...version }) => changes.map((change) => ({ ...version, ...change })))
  const shown = table(rows, [
    { title: 'VERSION', alignsRight: true, value: ({ version }) => String(version) },
    { title: 'WHEN', value: ({ createdAt }) => instant(createdAt) },
    { title: 'PLACE', value: ({ place }) => place },
    { title: 'WAS', value: ({ before }) => before },
    { title: 'BECAME', value: ({ after }) => after },
    { title: 'SOURCE', value: ({ source }) => source },
  ])
  return { json: versions, blocks: [shown] }
}

export const blockLent: Action = async ({ connection }, given) => {
  const [id, reason] = [argument(given), requiredOption(given.options, 'reason')]
  const offer = await connection.as('operator', (client) => client.lentOffer.block.mutate({ id, reason }))
  return { json: offer, blocks: [text(`${offer.id} is off the market.`)] }
}

export const restoreLent: Action = async ({ connection }, given) => {
  const [id, reason] = [argument(given), requiredOption(given.options, 'reason')]
  const offer = await connection.as('operator', (client) => client.lentOffer.restore.mutate({ id, reason }))
  return { json: offer, blocks: [text(`The seller may activate ${offer.id} again.`)] }
}

type Change = { readonly place: string; readonly before: string | null; readonly after: string | null }

function changeTable(changes: readonly Change[]): OutputBlock {
  return table(
    changes,
    [
      { title: 'PLACE', value: ({ place }) => place },
      { title: 'IS', value: ({ before }) => before },
      { title: 'BECOMES', value: ({ after }) => after },
    ],
    'Nothing changes.',
  )
}

function warning({
  newHosts,
  activeOffers,
}: {
  readonly newHosts: readonly string[]
  readonly activeOffers: number
}): OutputBlock {
  return text(`${activeOffers} lent keys would be sent to ${newHosts.join(', ')}.`)
}

/** The record in a file. Its faults are listed here, each with its place, before anything is sent. */
function readRecord(path: string): ResourceInput {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined || !found.isFile()) throw usageError(`There is no file ${path}.`)
  if (found.size > MAX_FILE_BYTES) throw usageError(`${path} is longer than ${MAX_FILE_BYTES} bytes.`)
  let parsed: unknown
  try {
    parsed = JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    throw usageError(`${path} is not JSON.`)
  }
  const record = ResourceSchema.safeParse(parsed)
  if (record.success) return record.data
  const problems = record.error.issues.slice(0, 10).map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  throw usageError(`${path} is no record of a resource.\n${problems.join('\n')}`)
}
