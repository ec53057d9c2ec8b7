import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { keptToPercent, meetsFloor, percentToKept, strictestFloor } from '#shared/discount.ts'
import { KEEP_ALL, keptBps, parseUnitPrice } from '#shared/money.ts'
import { chargeUsage, listCost, UnitPricesSchema, unpricedClasses, writeUnitPrices } from '#shared/pricing.ts'
import { inputTokens, outputTokens, USAGE_CLASSES, UsageSchema } from '#shared/usage.ts'

const prices = {
  input: parseUnitPrice('0.000003'),
  output: parseUnitPrice('0.000015'),
  cacheRead: parseUnitPrice('0.0000003'),
}

describe('pricing', () => {
  it('prices disjoint classes, cached input by its own price', () => {
    const usage = { input: 100, cacheRead: 900, output: 10 }
    expect(listCost(prices, usage)).toBe(300n + 270n + 150n)
    expect(chargeUsage(prices, usage, keptBps(5_000))).toBe(360n)
  })

  it('falls back to fresh input for cache writes and to output for reasoning', () => {
    expect(listCost(prices, { cacheWrite: 10, reasoning: 10 })).toBe(30n + 150n)
  })

  it('names the classes without a price', () => {
    expect(unpricedClasses(prices, { input: 1, images: 2, pixels: 0 })).toEqual(['images'])
  })

  it('passes prices through the contract unchanged', () => {
    expect(UnitPricesSchema.parse(writeUnitPrices(prices))).toEqual(prices)
    expect(UnitPricesSchema.safeParse({ input: '-5' }).success).toBe(false)
    expect(UnitPricesSchema.safeParse({ gold: '5' }).success).toBe(false)
  })

  it('never charges more for a discount, and never less for more usage', () => {
    const usages = fc.record({ input: fc.nat(100_000), output: fc.nat(100_000), cacheRead: fc.nat(100_000) })
    fc.assert(
      fc.property(usages, fc.integer({ min: 0, max: 9_999 }), (usage, kept) => {
        expect(chargeUsage(prices, usage, keptBps(kept)) <= chargeUsage(prices, usage, keptBps(kept + 1))).toBe(true)
        const more = { ...usage, output: usage.output + 1 }
        expect(chargeUsage(prices, usage, KEEP_ALL) <= chargeUsage(prices, more, KEEP_ALL)).toBe(true)
      }),
    )
  })

  it('splits usage into prompt and completion tokens without losing a class', () => {
    const usage = { input: 1, cacheRead: 2, cacheWrite: 4, audioInput: 8, output: 16, reasoning: 32, audioOutput: 64 }
    expect(inputTokens(usage) + outputTokens(usage)).toBe(127)
    expect(UsageSchema.safeParse(Object.fromEntries(USAGE_CLASSES.map((name) => [name, 1]))).success).toBe(true)
    for (const bad of [{ input: -1 }, { input: 1.5 }, { input: '1' }, { inputs: 1 }, { input: Number.NaN }]) {
      expect(UsageSchema.safeParse(bad).success).toBe(false)
    }
  })
})

describe('discounts', () => {
  it('convert between percent and kept basis points exactly', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 10_000 }),
        (bps) => percentToKept(keptToPercent(keptBps(bps))) === BigInt(bps),
      ),
    )
    expect(percentToKept(12.34)).toBe(8_766n)
    for (const bad of [12.345, -1, 100.01, Number.NaN]) expect(() => percentToKept(bad)).toThrow(RangeError)
  })

  it('apply the strictest floor', () => {
    expect(strictestFloor([5, undefined, 90, null, 50])).toBe(90)
    expect(strictestFloor([undefined, null])).toBeUndefined()
    expect(meetsFloor(keptBps(7_000), 30)).toBe(true)
    expect(meetsFloor(keptBps(7_001), 30)).toBe(false)
  })
})
