import { fixedMoney, money, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import type { FileColumn } from '#control-plane/dashboard/ui/file.ts'

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
  return `${perMillion(inputPer1m)} · ${perMillion(outputPer1m)}`
}

/** The columns of a file for a price: each price of a million tokens, and that of a unit of media with its unit. */
export function priceFile<Row>(
  pricesOf: (row: Row) => Prices,
  unitOf: (row: Row) => string | null,
): readonly FileColumn<Row>[] {
  return [
    { label: 'Input per 1M tokens', text: (row) => pricesOf(row).inputPer1m, unit: 'microUsd' },
    { label: 'Output per 1M tokens', text: (row) => pricesOf(row).outputPer1m, unit: 'microUsd' },
    { label: 'Price per media unit', text: (row) => pricesOf(row).mediaUnitPrice, unit: 'microUsd' },
    { label: 'Media unit', text: unitOf },
  ]
}

/** Most decimals of a price per million tokens: a tenth of a cent. Cents are always shown, and lower prices in full. */
const PRICE_DIGITS = 3
const LEAST_SHOWN = 1_000

function perMillion(price: number | null): string {
  if (price === null) return UNKNOWN
  return price > 0 && price < LEAST_SHOWN ? money(price) : fixedMoney(price, PRICE_DIGITS).replace(/(\.\d\d)0$/, '$1')
}

/** The price with its unit, for columns in which models are sold by tokens and by other units. */
export function unitPriceText(prices: Prices, mediaUnit: string | null): string {
  const text = priceText(prices, mediaUnit)
  return text.includes(' · ') ? `${text} / 1M` : text
}
