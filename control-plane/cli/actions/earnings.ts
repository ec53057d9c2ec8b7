import { count, dollars, dollarsOf, instant } from '#control-plane/cli/amounts.ts'
import { EARNINGS_RANGES } from '#control-plane/cli/choices.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { facts, table, text } from '#control-plane/cli/output.ts'
import { choiceOption, pageOf, textOption, wholeOption } from '#control-plane/cli/read-options.ts'
import { usedUnits } from '#control-plane/cli/used-units.ts'
import { toSnakeBody, toSnakeName } from '#shared/field-names.ts'
import { nextPage } from './account.ts'

/** Models that are shown unless `--limit` asks for another number. */
const SHOWN_MODELS = 20

/** Shows a figure. A name that ends in `_usdc` holds micro-USD in plain digits. */
function shownFigure(name: string, value: unknown): [string, string] {
  const words = name.replace(/_(usdc|usd)$/, '').replaceAll('_', ' ')
  if (name.endsWith('_usdc')) return [words, dollars(String(value)) ?? '-']
  return [words, name.endsWith('_usd') && typeof value === 'number' ? (dollarsOf(value) ?? '-') : String(value)]
}

export const showEarnings: Action = async ({ connection }, { options }) => {
  const input = { range: choiceOption(options, 'range', EARNINGS_RANGES) }
  const earnings = await connection.as('seller', (client) => client.earnings.get.query(input))
  const plain = Object.entries(earnings).filter(([, value]) => typeof value === 'number' || typeof value === 'string')
  const figures = Object.fromEntries(plain.map(([name, value]) => shownFigure(toSnakeName(name), value)))
  const limit = wholeOption(options, 'limit', { min: 1, max: 1_000 }) ?? SHOWN_MODELS
  const best = earnings.byModel.toSorted((one, other) => other.earnedUsd - one.earnedUsd)
  const shown = best.slice(0, limit)
  const models = table(
    shown,
    [
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'EARNED', alignsRight: true, value: (row) => dollarsOf(row.earnedUsd) },
      { title: 'CALLS', alignsRight: true, value: ({ requests }) => count(requests) },
      { title: 'TOKENS', alignsRight: true, value: (row) => count(row.totalTokens) },
      { title: 'OTHER UNITS', value: (row) => usedUnits(row) },
      { title: 'LAST SALE', value: (row) => instant(row.lastSaleAt) },
    ],
    'No sales in this period.',
  )
  const rest = text(
    `The ${shown.length} models with the highest earnings of ${best.length}. Add --limit ${best.length} for all.`,
  )
  const blocks = [facts(figures), models, ...(shown.length < best.length ? [rest] : [])]
  return { json: toSnakeBody(earnings), blocks }
}

export const showHealthLog: Action = async ({ connection }, { options }) => {
  const input = { ...pageOf(options), offerId: textOption(options, 'offer') }
  const page = await connection.as('seller', (client) => client.offer.healthLog.query(input))
  const rows = table(
    page.items,
    [
      { title: 'WHEN', value: ({ timestamp }) => instant(timestamp) },
      { title: 'OFFER', value: (item) => item.offerId },
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'WHAT', value: (item) => item.errorCategory },
      { title: 'STATUS', value: (item) => item.statusCode },
      { title: 'THEN', value: (item) => item.actionTaken },
      { title: 'DETAIL', value: (item) => item.errorDetail },
    ],
    'No health events.',
  )
  return { json: toSnakeBody(page), blocks: [rows, ...nextPage(page.nextToken)] }
}
