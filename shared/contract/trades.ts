import { z } from 'zod'
import type { MicroUsd } from '#shared/money.ts'
import { parseMicroUsd } from '#shared/money.ts'

/** The number of charged calls of one offer, and the amount paid for them. */
export type OfferTrades = { readonly count: number; readonly volumeMicro: MicroUsd }

/**
 * Sales of a model's offers: `{offer} {calls} {micro-USD}` each, joined by commas. There are as many as offers, and
 * they change by the minute, so a reader checks the text as a whole and parses it only on demand.
 */
export const TradesText = z.string().regex(/^(?:[\w-]+ [1-9]\d{0,14} (?:0|[1-9]\d{0,13})(?:,(?!$)|$))*$/)

/** The trades in a text of {@link TradesText}, by offer. */
export function parseTrades(text: string): ReadonlyMap<string, OfferTrades> {
  const trades = new Map<string, OfferTrades>()
  for (const entry of text === '' ? [] : text.split(',')) {
    const [offer = '', count = '', volume = ''] = entry.split(' ')
    trades.set(offer, { count: Number(count), volumeMicro: parseMicroUsd(volume) })
  }
  return trades
}
