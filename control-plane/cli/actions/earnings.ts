import { count, dollars, instant } from '#control-plane/cli/amounts.ts'
import { EARNINGS_RANGES } from '#control-plane/cli/choices.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { choiceOption, pageOf, textOption } from '#control-plane/cli/read-options.ts'
import { usedUnits } from '#control-plane/cli/used-units.ts'
import { toSnakeBody, toSnakeName } from '#shared/field-names.ts'
import { nextPage } from './account.ts'

const usd = (value: number | null | undefined) => (value == null ? null : `$${value}`)

/** Shows a figure. A name that ends in `_usdc` holds micro-USD in plain digits. */
function shownFigure(name: string, value: unknown): [string, string] {
  const words = name.replace(/_(usdc|usd)$/, '').replaceAll('_', ' ')
  if (name.endsWith('_usdc')) return [words, dollars(String(value)) ?? '-']
  return [words, name.endsWith('_usd') ? `$${String(value)}` : String(value)]
}

export const showEarnings: Action = async ({ connection }, { options }) => {
  const input = { range: choiceOption(options, 'range', EARNINGS_RANGES) }
  const earnings = await connection.as('seller', (client) => client.earnings.get.query(input))
  const plain = Object.entries(earnings).filter(([, value]) => typeof value === 'number' || typeof value === 'string')
  const figures = Object.fromEntries(plain.map(([name, value]) => shownFigure(toSnakeName(name), value)))
  const models = table(
    earnings.byModel,
    [
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'EARNED', alignsRight: true, value: (row) => usd(row.earnedUsd) },
      { title: 'CALLS', alignsRight: true, value: ({ requests }) => count(requests) },
      { title: 'TOKENS', alignsRight: true, value: (row) => count(row.totalTokens) },
      { title: 'OTHER UNITS', value: (row) => usedUnits(row) },
      { title: 'LAST SALE', value: (row) => instant(row.lastSaleAt) },
    ],
    'Nothing was sold in this time.',
  )
  return { json: toSnakeBody(earnings), blocks: [facts(figures), models] }
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
    'Nothing went wrong.',
  )
  return { json: toSnakeBody(page), blocks: [rows, ...nextPage(page.nextToken)] }
}
