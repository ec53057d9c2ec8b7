import { z } from 'zod'
import { count, dollars, instant } from '#control-plane/cli/amounts.ts'
import type { Action } from '#control-plane/cli/command.ts'
import { facts, table } from '#control-plane/cli/output.ts'
import { readAnswer } from '#control-plane/cli/read-answer.ts'
import { textOption, wholeOption } from '#control-plane/cli/read-options.ts'
import { UsedUnits, usedUnits } from '#control-plane/cli/used-units.ts'
import { nextPage } from './account.ts'

const usd = (value: number | null | undefined) => (value == null ? null : `$${value}`)

/** Shows a figure. A name that ends in `_usdc` holds micro-USD in plain digits. */
function shownFigure(name: string, value: unknown): [string, string] {
  const words = name.replace(/_(usdc|usd)$/, '').replaceAll('_', ' ')
  if (name.endsWith('_usdc')) return [words, dollars(String(value)) ?? '-']
  return [words, name.endsWith('_usd') ? `$${String(value)}` : String(value)]
}

const Earnings = z.looseObject({
  by_model: z
    .array(
      z.looseObject({
        model: z.string(),
        earned_usd: z.number(),
        requests: z.number(),
        total_tokens: z.number().nullish(),
        ...UsedUnits,
        last_sale_at: z.number().nullish(),
      }),
    )
    .nullish(),
  daily: z.array(z.looseObject({ earned_usd: z.number(), requests: z.number() })).nullish(),
})

export const showEarnings: Action = async ({ connection }, { options }) => {
  const query = { range: textOption(options, 'range') }
  const earnings = readAnswer(Earnings, await connection.call('GET', '/v1/seller/earnings', { side: 'seller', query }))
  const plain = Object.entries(earnings).filter(([, value]) => typeof value === 'number' || typeof value === 'string')
  const figures = Object.fromEntries(plain.map(([name, value]) => shownFigure(name, value)))
  const models = table(
    earnings.by_model ?? [],
    [
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'EARNED', alignsRight: true, value: (row) => usd(row.earned_usd) },
      { title: 'CALLS', alignsRight: true, value: ({ requests }) => count(requests) },
      { title: 'TOKENS', alignsRight: true, value: (row) => count(row.total_tokens) },
      { title: 'OTHER UNITS', value: (row) => usedUnits(row) },
      { title: 'LAST SALE', value: (row) => instant(row.last_sale_at) },
    ],
    'Nothing was sold in this time.',
  )
  return { json: earnings, blocks: [facts(figures), models] }
}

const HealthPage = z.looseObject({
  items: z.array(
    z.looseObject({
      timestamp: z.number(),
      offer_id: z.string(),
      model: z.string().nullish(),
      error_category: z.string().nullish(),
      error_detail: z.string().nullish(),
      status_code: z.number().nullish(),
      action_taken: z.string().nullish(),
    }),
  ),
  next_token: z.string().nullish(),
})

export const showHealthLog: Action = async ({ connection }, { options }) => {
  const query = {
    offer_id: textOption(options, 'offer'),
    max_items: wholeOption(options, 'limit', { min: 1, max: 100 }),
    next_token: textOption(options, 'nextToken'),
  }
  const page = readAnswer(HealthPage, await connection.call('GET', '/v1/seller/health-log', { side: 'seller', query }))
  const rows = table(
    page.items,
    [
      { title: 'WHEN', value: ({ timestamp }) => instant(timestamp) },
      { title: 'OFFER', value: (item) => item.offer_id },
      { title: 'MODEL', value: ({ model }) => model },
      { title: 'WHAT', value: (item) => item.error_category },
      { title: 'STATUS', value: (item) => item.status_code },
      { title: 'THEN', value: (item) => item.action_taken },
      { title: 'DETAIL', value: (item) => item.error_detail },
    ],
    'Nothing went wrong.',
  )
  return { json: page, blocks: [rows, ...nextPage(page.next_token)] }
}
