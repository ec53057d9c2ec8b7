import { money, UNKNOWN } from '#control-plane/dashboard/data/format.ts'

/** Prices in whole micro-USD per million tokens, and per unit of media. */
export type Prices = {
  readonly inputPer1m: number | null
  readonly outputPer1m: number | null
  readonly mediaUnitPrice: number | null
}

/** The price of a model as a reader compares it: input and output, or a unit. */
export function priceText(prices: Prices, mediaUnit: string | null): string {
  const { inputPer1m, outputPer1m, mediaUnitPrice } = prices
  if (mediaUnitPrice !== null && mediaUnit !== null)
    return `${money(mediaUnitPrice)} / ${mediaUnit.replace(/^per[ _]/, '').replaceAll('_', ' ')}`
  if (inputPer1m === null && outputPer1m === null) return UNKNOWN
  return `${inputPer1m === null ? UNKNOWN : money(inputPer1m)} · ${outputPer1m === null ? UNKNOWN : money(outputPer1m)}`
}

/** The price with its unit, for columns in which models are sold by tokens and by other units. */
export function unitPriceText(prices: Prices, mediaUnit: string | null): string {
  const text = priceText(prices, mediaUnit)
  return text.includes(' · ') ? `${text} / 1M` : text
}
