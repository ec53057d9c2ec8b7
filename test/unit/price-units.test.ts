import { describe, expect, it } from 'vitest'
import { modelPrices } from '#shared/market-view.ts'
import { KEEP_ALL, keptBps, parseUnitPrice } from '#shared/money.ts'
import { isFloor, mediaUnitOf, mediaUnitPrice, shownUnitPrices } from '#shared/price-units.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import type { UsageClass } from '#shared/usage.ts'

const bySecond = { mediaUnit: 'per second' }
const byMinute = { mediaUnit: 'per minute' }
const anyhow = { mediaUnit: null }

/** Prices in US dollars of one unit of each class. */
const dollars = (given: { readonly [Class in UsageClass]?: string }): UnitPrices =>
  UnitPricesSchema.parse(
    Object.fromEntries(Object.entries(given).map(([name, price]) => [name, parseUnitPrice(price).toString()])),
  )

const tiers = dollars({ input: '0', output: '0', images: '0.04', images2k: '0.06', images4k: '0.12' })
const tokensAndPictures = dollars({ input: '0.0000003', output: '0.0000025', imageOutput: '0.00003' })

describe('the shown prices of media', () => {
  it('are per unit: a million pixels, a second or a minute', () => {
    const pixels = dollars({ pixels: '0.000000025' })
    expect([mediaUnitOf(anyhow, pixels), mediaUnitPrice(anyhow, pixels, KEEP_ALL)]).toEqual(['per megapixel', 25_000n])
    expect(shownUnitPrices(anyhow, pixels, keptBps(6_000))).toEqual([{ unit: 'megapixel', usd: 0.015 }])
    const time = dollars({ milliseconds: '0.0000001' })
    expect([mediaUnitOf(bySecond, time), mediaUnitPrice(bySecond, time, KEEP_ALL)]).toEqual(['per second', 100n])
    expect([mediaUnitOf(byMinute, time), mediaUnitPrice(byMinute, time, KEEP_ALL)]).toEqual(['per minute', 6_000n])
    expect(shownUnitPrices(byMinute, time, keptBps(7_500))).toEqual([{ unit: 'minute', usd: 0.0045 }])
  })

  it('are all shown where a model has several, with the main price first', () => {
    expect(modelPrices(anyhow, tiers, keptBps(5_000))).toEqual({
      input: null,
      output: null,
      cacheRead: null,
      cacheWrite: null,
      mediaUnit: 'per image',
      mediaUnitPrice: 20_000n,
      unitPrices: [
        { unit: 'image', usd: 0.02 },
        { unit: 'image_2k', usd: 0.03 },
        { unit: 'image_4k', usd: 0.06 },
      ],
    })
    // Area is the charged unit of pictures where both units have a price.
    expect(mediaUnitOf(anyhow, { ...tiers, ...dollars({ pixels: '0.00000001' }) })).toBe('per megapixel')
  })

  it('are shown beside those of tokens, where a token of a picture has another price', () => {
    expect(modelPrices(anyhow, tokensAndPictures, KEEP_ALL)).toEqual({
      input: 300_000n,
      output: 2_500_000n,
      cacheRead: 300_000n,
      cacheWrite: 300_000n,
      mediaUnit: null,
      mediaUnitPrice: null,
      unitPrices: [{ unit: 'image_output', usd: 30 }],
    })
    const search = dollars({ input: '0.000001', output: '0.000001', calls: '0.005' })
    expect(modelPrices(anyhow, search, KEEP_ALL)).toMatchObject({
      input: 1_000_000n,
      mediaUnit: 'per request',
      mediaUnitPrice: 5_000n,
      unitPrices: [{ unit: 'request', usd: 0.005 }],
    })
  })

  it('are exact in dollars where micro-USD would round them', () => {
    const speech = dollars({ characters: '0.0000008' })
    expect(mediaUnitPrice(anyhow, speech, keptBps(9_999))).toBe(1n)
    expect(shownUnitPrices(anyhow, speech, keptBps(9_999))).toEqual([{ unit: 'character', usd: 0.00000079992 }])
    expect(shownUnitPrices(anyhow, dollars({ images: '0.07' }), keptBps(6_667))).toEqual([
      { unit: 'image', usd: 0.046669 },
    ])
  })
})

describe('a shown price that calls can exceed', () => {
  const cases: readonly [string, UnitPrices, boolean][] = [
    ['a more expensive tier', tiers, true],
    ['no more expensive tier', dollars({ images: '0.04', images2k: '0.04' }), false],
    ['films with a more expensive tier', dollars({ milliseconds: '0.0001', milliseconds1080p: '0.0003' }), true],
    ['films of one price', dollars({ milliseconds: '0.0001', milliseconds4k: '0.0001' }), false],
    ['one unit', dollars({ input: '0', output: '0', characters: '0.000015' }), false],
    ['a price per call beside a lower one', dollars({ images: '0.04', calls: '0.001' }), true],
    ['higher prices of picture tokens', tokensAndPictures, true],
    ['tokens alone', dollars({ input: '0.000001', cacheRead: '0.0000001', output: '0.000002' }), false],
    ['a price per call beside tokens', dollars({ input: '0.000001', output: '0.000001', calls: '0.005' }), true],
    ['nothing that costs', dollars({ input: '0', output: '0', images: '0', characters: '0' }), false],
  ]
  it.each(cases)('with %s', (_name, prices, isOne) => expect(isFloor(prices)).toBe(isOne))
})
