import { instant, perMillion } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { usageError } from '#control-plane/cli/failure.ts'
import { table, text } from '#control-plane/cli/output.ts'
import { argument, instantOption, requiredOption, textOption, wholeOption } from '#control-plane/cli/read-options.ts'

const MAX_VALUE_CHARS = 60

/** Shows a field's value. Prices of tokens are shown as dollars of a million. */
export function shownValue(field: string, value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (field === 'added') return 'new'
  if (field.startsWith('price.') && typeof value === 'string') return `${perMillion(value)}/1M`
  const written = typeof value === 'string' ? value : JSON.stringify(value)
  return written.length > MAX_VALUE_CHARS ? `${written.slice(0, MAX_VALUE_CHARS)}…` : written
}

export const showHistory: Action = async ({ connection }, { options }) => {
  const model = textOption(options, 'model')
  const limit = wholeOption(options, 'limit', { min: 1, max: 100 })
  const nextToken = textOption(options, 'nextToken')
  const page = await connection.as('operator', (client) =>
    client.catalog.history.query({ ...(model && { model }), ...(limit && { limit }), ...(nextToken && { nextToken }) }),
  )
  const rows = table(page.items, [
    { title: 'WHEN', value: ({ at }) => instant(at) },
    { title: 'MODEL', value: ({ model: id }) => id },
    { title: 'FIELD', value: ({ field }) => field },
    { title: 'WAS', value: ({ field, before }) => shownValue(field, before) },
    { title: 'BECAME', value: ({ field, after }) => shownValue(field, after) },
    { title: 'SOURCE', value: ({ source }) => source },
  ])
  const more = page.nextToken === null ? [] : [text(`More with --next-token ${page.nextToken}`)]
  return { json: page, blocks: [rows, ...more] }
}

export const listAliases: Action = async ({ connection }, { options }) => {
  const model = textOption(options, 'model')
  const names = await connection.as('operator', (client) =>
    client.alias.list.query(model === undefined ? {} : { model }),
  )
  const rows = table(names, [
    { title: 'NAME', value: ({ alias }) => alias },
    { title: 'MODEL', value: ({ model: id }) => id },
    { title: 'GIVEN BY', value: ({ isManual }) => (isManual ? 'hand' : 'import') },
  ])
  return { json: names, blocks: [rows] }
}

export const putAlias: Action = async ({ connection }, given) => {
  const [alias, model] = [argument(given), argument(given, 1)]
  const put = await connection.as('operator', (client) => client.alias.put.mutate({ alias, model }))
  return { json: put, blocks: [text(`${put.alias} means ${put.model}.`)] }
}

export const removeAlias: Action = async ({ connection }, given) => {
  const gone = await connection.as('operator', (client) => client.alias.remove.mutate({ alias: argument(given) }))
  return { json: gone, blocks: [text(`${gone.alias} is no longer a name of a model.`)] }
}

export const listPrices: Action = async ({ connection }, given) => {
  const found = await connection.as('operator', (client) => client.price.list.query({ model: argument(given) }))
  const rows = found.versions.flatMap(({ unitPrices, overrides, minimums, ...version }) =>
    [{ conditions: '', unitPrices }, ...overrides].flatMap(({ conditions, unitPrices: own }) =>
      Object.entries(own).map(([unit, price]) => {
        const least = Object.entries(minimums).find(([minimum]) => minimum === unit)?.[1]
        return { ...version, unit, price, conditions, least }
      }),
    ),
  )
  const shown = table(rows, [
    { title: 'STATE', value: ({ state }) => state },
    { title: 'FROM', value: ({ effectiveAt }) => instant(effectiveAt) },
    { title: 'CLASS', value: ({ unit }) => unit },
    { title: 'WHEN', value: ({ conditions }) => conditions },
    { title: 'PER 1M UNITS', alignsRight: true, value: ({ price }) => perMillion(price) },
    { title: 'LEAST', alignsRight: true, value: ({ least }) => (least === undefined ? '' : String(least)) },
    { title: 'SOURCE', value: ({ source }) => source },
  ])
  return { json: found, blocks: [shown] }
}

/** Sets prices, given in dollars of a million tokens, as sellers publish them. */
export const putPrices: Action = async ({ connection }, given) => {
  const { options } = given
  const unit = (name: string): string | undefined => {
    const perMillionText = textOption(options, name)
    return perMillionText === undefined ? undefined : ofOneUnit(perMillionText)
  }
  const [prompt, completion] = [unit('input'), unit('output')]
  if (prompt === undefined || completion === undefined) throw usageError('--input and --output are needed.')
  const [cacheRead, cacheWrite] = [unit('cacheRead'), unit('cacheWrite')]
  const at = instantOption(options, 'effectiveAt')
  const put = await connection.as('operator', (client) =>
    client.price.put.mutate({
      model: argument(given),
      pricing: {
        prompt,
        completion,
        ...(cacheRead && { input_cache_read: cacheRead }),
        ...(cacheWrite && { input_cache_write: cacheWrite }),
      },
      keepOverrides: true,
      source: requiredOption(options, 'source'),
      ...(at === undefined ? {} : { effectiveAt: at }),
    }),
  )
  const message =
    put.version === null ? 'The prices are the same already.' : `Prices of ${put.model} in version ${put.version}.`
  return { json: put, blocks: [text(message)] }
}

/** Converts dollars of a million tokens to dollars of one, without a float. */
function ofOneUnit(perMillionText: string): string {
  const match = /^\$?(\d{1,9})(?:\.(\d{1,6}))?$/.exec(perMillionText.trim())
  if (match === null) throw usageError(`${perMillionText} is no price in dollars with at most six decimals.`)
  const digits = `${match[1]}${(match[2] ?? '').padEnd(6, '0')}`.padStart(13, '0')
  return `${digits.slice(0, -12)}.${digits.slice(-12)}`
}
