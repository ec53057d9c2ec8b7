import { describe, expect, it } from 'vitest'
import { priceLinesOf } from '#control-plane/services/catalog/catalog-items.ts'
import type { Ending, ModelDemand } from '#data-plane/call.ts'
import { billUsage } from '#data-plane/pipeline/meter/bill-usage.ts'
import { meterUsage } from '#data-plane/pipeline/meter/meter-usage.ts'
import { boundOf } from '#data-plane/pipeline/plan/quote-call.ts'
import type { ImageBounds } from '#shared/images.ts'
import { likelyImageTokens, mostImageTokens } from '#shared/images.ts'
import { picoUsd } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { buildDemand, buildModel, buildPlan, buildTarget } from '#test/support/bytes/build-market.ts'

const PICO = picoUsd(1_000n)
const endingOf = (reported: Partial<ReportedUsage>, contentBytes = 400): Ending => ({
  reported: { insaneFields: 0, ...reported },
  finishReason: null,
  contentBytes,
  reasoningBytes: 0,
})

function meter(unitPrices: UnitPrices, bounds: Partial<ModelDemand['bounds']>, ending: Ending) {
  const imageOutput = { tokens: { low: { '1024x1024': 100 }, high: { '1024x1024': 400 } }, partial: 50 }
  const target = buildTarget(buildModel({ imageOutput: { ...imageOutput, source: 'test', date: '2026-01-01' } }))
  const plan = buildPlan({ target: { ...target, price: { ...target.price, unitPrices } } })
  return meterUsage(plan, buildDemand({ bounds: { ...buildDemand().bounds, ...bounds } }), ending)
}

const OPEN: ImageBounds = { count: 3, size: undefined, resolution: undefined, quality: undefined }
const SIZED: ImageBounds = { ...OPEN, size: { width: 100, height: 200 } }
const DEFAULT_AREA = 1_024 * 1_024

describe('pictures that are sold by area', () => {
  const usageOf = (images: ImageBounds, reported: Partial<ReportedUsage>) =>
    meter({ pixels: PICO }, { images }, endingOf(reported)).usage

  it('count the area of all delivered pictures, at most the bound of each times their number', () => {
    expect(usageOf(OPEN, { images: 3, pixels: 2 * DEFAULT_AREA })).toEqual({ pixels: 2 * DEFAULT_AREA })
    expect(usageOf(OPEN, { images: 3, pixels: 99 * DEFAULT_AREA })).toEqual({ pixels: 3 * DEFAULT_AREA })
    expect(usageOf(OPEN, { images: 2, pixels: 99 * DEFAULT_AREA })).toEqual({ pixels: 2 * DEFAULT_AREA })
    expect(usageOf(OPEN, { images: 2 })).toEqual({ pixels: 2 * DEFAULT_AREA })
    expect(usageOf(OPEN, { images: 2, pixels: 0 })).toEqual({ pixels: 2 * DEFAULT_AREA })
  })

  it('count the requested size, whatever the provider reports', () => {
    expect(usageOf(SIZED, { images: 2, pixels: 99 })).toEqual({ pixels: 40_000 })
  })

  it('count at most the requested number, and none where none was delivered', () => {
    expect(usageOf(SIZED, { images: 9 })).toEqual({ pixels: 60_000 })
    expect(usageOf(SIZED, { images: 0, pixels: 500 })).toEqual({})
  })
})

describe('pictures that are sold by the piece', () => {
  const usageOf = (reported: Partial<ReportedUsage>, contentBytes?: number) =>
    meter({ images: PICO }, { images: OPEN }, endingOf(reported, contentBytes)).usage

  it('count delivered pictures, at most the requested number, and no partial picture', () => {
    expect(usageOf({ images: 2 })).toEqual({ images: 2 })
    expect(usageOf({ images: 9 })).toEqual({ images: 3 })
    expect(usageOf({ images: 2, partialImages: 5 })).toEqual({ images: 2 })
    expect(usageOf({ images: 0, partialImages: 5 })).toEqual({})
    expect(usageOf({ images: 2 }, 0)).toEqual({})
  })
})

describe('pictures by the piece at a price by size and quality', () => {
  const lines = priceLinesOf({
    pricing: {
      prompt: '0',
      completion: '0',
      overrides: [
        { image_sizes: ['1792x1024'], image: '0.08' },
        { image_quality: 'hd', image: '0.08' },
        { image_sizes: ['1792x1024'], image_quality: 'hd', image: '0.12' },
      ],
    },
    unit_pricing: { images: '0.04' },
  })
  const target = {
    ...buildTarget(buildModel({ parameters: ['size', 'quality'] })),
    price: { version: 'test', ...lines },
  }

  it.each([
    [{}, 40_000],
    [{ quality: 'standard' }, 40_000],
    [{ size: { width: 1_792, height: 1_024 } }, 80_000],
    [{ quality: 'hd' }, 80_000],
    [{ size: { width: 1_792, height: 1_024 }, quality: 'hd' }, 120_000],
  ] as const)('%j costs %d micro-USD a picture, held and charged', (shape, micro) => {
    const images: ImageBounds = { ...OPEN, count: 2, ...shape }
    const demand = buildDemand({ bounds: { ...buildDemand().bounds, images } })
    const metered = meterUsage(buildPlan({ target }), demand, endingOf({ images: 2 }))
    expect(Number(billUsage(target.price, metered).whole) / 1e6).toBe(2 * micro)
    expect(Number(boundOf(target, demand).bill) / 1e6).toBe(2 * micro)
  })
})

describe('pictures that are sold by tokens', () => {
  const images: ImageBounds = { ...OPEN, count: 2, size: { width: 1_024, height: 1_024 } }
  const meteredOf = (reported: Partial<ReportedUsage>) =>
    meter({ input: PICO, imageOutput: PICO }, { images }, endingOf(reported))

  it('count at most the most expensive quality that the request leaves open, times their number', () => {
    const { usage, anomalies } = meteredOf({ images: 2, inputTokens: 5, outputTokens: 9_999 })
    expect([usage, anomalies]).toEqual([{ input: 5, imageOutput: 800 }, ['output_clipped']])
    expect(meteredOf({ images: 2, inputTokens: 5, outputTokens: 700 }).usage).toEqual({ input: 5, imageOutput: 700 })
  })

  it('count the tokens of the tier where no size is named', () => {
    const tokens = { '*': { '*': 1_120, '4096x4096': 2_000 } }
    const table = { tokens, source: 'test', date: '2026-01-01' }
    const shape = { ...images, size: undefined, resolution: '4K' } as const
    expect([mostImageTokens(table, shape), likelyImageTokens(table, shape)]).toEqual([2_000, 2_000])
    expect(mostImageTokens(table, { ...shape, resolution: undefined })).toBe(1_120)
  })

  it('never count more than the total tokens, in and out', () => {
    const told = { images: 2, inputTokens: 5, outputTokens: 700 }
    expect(meteredOf({ ...told, imageOutputTokens: 900 }).usage).toEqual({ input: 5, imageOutput: 700 })
    expect(meteredOf({ ...told, imageOutputTokens: 600 }).usage).toEqual({ input: 5, output: 100, imageOutput: 600 })
    const fed = meteredOf({ ...told, imageInputTokens: 50 })
    expect(fed.usage).toEqual({ input: 0, imageInput: 5, imageOutput: 700 })
  })

  it('count partial pictures although no whole one was delivered', () => {
    expect(meteredOf({ images: 0, partialImages: 1, inputTokens: 5 }).usage).toEqual({ input: 5, imageOutput: 50 })
  })
})

describe('sound', () => {
  const bounds = { units: { most: { milliseconds: 10_000 }, least: { milliseconds: 4_000 } } }
  const meteredOf = (reported: Partial<ReportedUsage>, contentBytes?: number) =>
    meter({ milliseconds: PICO }, bounds, endingOf(reported, contentBytes))

  it('counts the provider’s time, at most the bound; without one, the time from the request', () => {
    expect(meteredOf({ milliseconds: 7_000 }).usage).toEqual({ milliseconds: 7_000 })
    const long = meteredOf({ milliseconds: 70_000 })
    expect([long.usage, long.anomalies]).toEqual([{ milliseconds: 10_000 }, ['duration_clipped']])
    const silent = meteredOf({})
    expect([silent.usage, silent.source]).toEqual([{ milliseconds: 4_000 }, 'estimated'])
  })

  it('counts the minimum of its price list, also where the sound is shorter than that', () => {
    const list = (least: number) => ({ unitPrices: { milliseconds: PICO }, minimums: { milliseconds: least } })
    const usageOf = (least: number, reported: Partial<ReportedUsage>, contentBytes?: number) =>
      meterUsage(
        buildPlan({ target: { ...buildTarget(), price: { version: 'test', ...list(least) } } }),
        buildDemand({ bounds: { ...buildDemand().bounds, ...bounds } }),
        endingOf(reported, contentBytes),
      ).usage
    expect(usageOf(10_000, { milliseconds: 1_000 })).toEqual({ milliseconds: 10_000 })
    expect(usageOf(10_000, {})).toEqual({ milliseconds: 10_000 })
    expect(usageOf(20_000, { milliseconds: 1_000 })).toEqual({ milliseconds: 20_000 })
    expect(usageOf(500, { milliseconds: 1_000 })).toEqual({ milliseconds: 1_000 })
    expect(usageOf(10_000, { milliseconds: 1_000 }, 0)).toEqual({})
  })

  it('costs nothing when it was not delivered, whatever the provider reports', () => {
    expect(meteredOf({ milliseconds: 7_000 }, 0).usage).toEqual({})
  })

  it('has the quantities of the request itself beside its time', () => {
    const units = { most: { milliseconds: 10_000, characters: 12 }, least: { milliseconds: 4_000, characters: 12 } }
    const prices = { milliseconds: PICO, characters: PICO }
    const { usage } = meter(prices, { units }, endingOf({ milliseconds: 7_000 }))
    expect(usage).toEqual({ milliseconds: 7_000, characters: 12 })
  })

  it('made from a text counts the characters of the text', () => {
    const units = { most: { characters: 12 }, least: { characters: 12 } }
    expect(meter({ characters: PICO }, { units }, endingOf({ milliseconds: 7_000 })).usage).toEqual({ characters: 12 })
  })
})
