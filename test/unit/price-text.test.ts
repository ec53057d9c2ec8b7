import { expect, it } from 'vitest'
import { priceText, unitPriceText } from '#control-plane/dashboard/market/price-text.ts'

const tokens = (inputPer1m: number | null, outputPer1m: number | null) => ({
  inputPer1m,
  outputPer1m,
  mediaUnitPrice: null,
})

it('prices of a million tokens have cents, a tenth of a cent where they need it, and low prices are whole', () => {
  expect(unitPriceText(tokens(15_000_000, 75_000_000), null)).toBe('$15.00 · $75.00 / 1M')
  expect(unitPriceText(tokens(741_000, 3_705_000), null)).toBe('$0.741 · $3.705 / 1M')
  expect(unitPriceText(tokens(30_000, 240_000), null)).toBe('$0.03 · $0.24 / 1M')
  expect(unitPriceText(tokens(1_181_250, 9_450_000), null)).toBe('$1.181 · $9.45 / 1M')
  expect(unitPriceText(tokens(450, 0), null)).toBe('$0.00045 · $0 / 1M')
  expect(priceText(tokens(null, null), null)).toBe('–')
  expect(priceText({ inputPer1m: null, outputPer1m: null, mediaUnitPrice: 23_600 }, 'per_image')).toBe(
    '$0.0236 / image',
  )
})
