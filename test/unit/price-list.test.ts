import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { priceLinesOf } from '#control-plane/services/catalog/catalog-items.ts'
import { billUsage } from '#data-plane/pipeline/meter/bill-usage.ts'
import { DAY, HOUR } from '#shared/clock.ts'
import { picoUsd } from '#shared/money.ts'
import type { PriceFacts, PriceLines, PriceOverride, ReferencePrice, ServiceTier } from '#shared/price-list.ts'
import {
  billedUsage,
  dearestPrices,
  PriceOverridesSchema,
  priceAt,
  SEARCH_CONTEXTS,
  SERVICE_TIERS,
  unitPricesFor,
  unitPricesUnder,
  writeOverrides,
} from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { unitPrice } from '#shared/pricing.ts'
import { USAGE_CLASSES } from '#shared/usage.ts'

const perMillion = (dollars: number) => (dollars / 1e6).toFixed(12)
const usage = { source: 'reported', finishReason: null, anomalies: [] } as const
const listOf = (pricing: object): ReferencePrice => ({ version: 'test', ...linesOf(pricing) })
const linesOf = (pricing: object) => priceLinesOf({ pricing: pricing as never, unit_pricing: undefined })
/** The cost of a call at the full price, in micro-USD. */
const costOf = (price: ReferencePrice, used: object, serviceTier?: ServiceTier) =>
  Number(billUsage(price, { usage: used, ...usage, ...(serviceTier && { serviceTier }) }).whole) / 1e6

/**
 * Twice the price, and one and a half for the output, from 272,000 prompt tokens on; twice all prices in the fast mode.
 */
const LONG = { prompt: perMillion(8), completion: perMillion(30), input_cache_read: perMillion(0.8) }
const GPT = listOf({
  prompt: perMillion(4),
  completion: perMillion(20),
  input_cache_read: perMillion(0.4),
  overrides: [
    { min_prompt_tokens: 271_999, ...LONG },
    { service_tier: 'priority', prompt: perMillion(8), completion: perMillion(40), input_cache_read: perMillion(0.8) },
    {
      service_tier: 'priority',
      min_prompt_tokens: 271_999,
      prompt: perMillion(16),
      completion: perMillion(60),
      input_cache_read: perMillion(1.6),
    },
    { service_tier: 'flex', prompt: perMillion(2), completion: perMillion(10), input_cache_read: perMillion(0.2) },
  ],
})

describe('a price list with conditions', () => {
  it('changes the prices of the whole call at its threshold, and counts cached tokens towards it', () => {
    expect(costOf(GPT, { input: 271_999, output: 10 })).toBe(271_999 * 4 + 200)
    expect(costOf(GPT, { input: 272_000, output: 10 })).toBe(272_000 * 8 + 300)
    expect(costOf(GPT, { input: 264_064, cacheRead: 7_936, output: 10 })).toBe(264_064 * 8 + 7_936 * 0.8 + 300)
    expect(costOf(GPT, { input: 264_063, cacheRead: 7_936, output: 10 })).toBe(264_063 * 4 + 7_936 * 0.4 + 200)
  })

  it('charges the tier that served the call, in every class and together with the threshold', () => {
    const small = { input: 1_000, cacheRead: 500, output: 100, reasoning: 50 }
    expect(costOf(GPT, small)).toBe(1_000 * 4 + 500 * 0.4 + 150 * 20)
    expect(costOf(GPT, small, 'priority')).toBe(1_000 * 8 + 500 * 0.8 + 150 * 40)
    expect(costOf(GPT, small, 'flex')).toBe(1_000 * 2 + 500 * 0.2 + 150 * 10)
    expect(costOf(GPT, { input: 300_000, output: 10 }, 'priority')).toBe(300_000 * 16 + 600)
    // A list without a line for the tier has the prices of the standard one.
    expect(costOf(GPT, small, 'fast')).toBe(costOf(GPT, small))
  })

  it('falls back within the prices that apply: cached input without a price is fresh input of that tier', () => {
    const price = listOf({
      prompt: perMillion(2),
      completion: perMillion(12),
      overrides: [{ min_prompt_tokens: 200_000, prompt: perMillion(4), completion: perMillion(18) }],
    })
    expect(costOf(price, { input: 100_000, cacheRead: 100_001, cacheWrite: 10 })).toBe(200_011 * 4)
    expect(costOf(price, { input: 100_000, cacheRead: 100_000 })).toBe(200_000 * 2)
  })

  it('prices each exchange of a call by its own prompt', () => {
    const each = [
      { input: 300_000, output: 1 },
      { input: 1_000, output: 1 },
    ]
    const whole = billUsage(GPT, { usage: { input: 301_000, output: 2 }, each, ...usage })
    expect(Number(whole.whole) / 1e6).toBe(300_000 * 8 + 30 + 1_000 * 4 + 20)
    expect(whole.conditions).toEqual(['prompt_tokens>=272000'])
  })

  it('prices one-hour cache writes, cached audio and searches by lines of their own', () => {
    const price = listOf({
      prompt: perMillion(3),
      completion: perMillion(15),
      input_cache_write: perMillion(3.75),
      input_cache_write_1h: perMillion(6),
      input_audio_cache: perMillion(0.5),
      web_search: '0.01',
    })
    expect(costOf(price, { input: 60, cacheWriteLong: 100_000 })).toBe(180 + 600_000)
    expect(costOf(price, { cacheWrite: 100_000, cachedAudio: 10, searches: 2 })).toBe(375_000 + 5 + 20_000)
  })
})

/** A Friday. */
const FRIDAY = Date.UTC(2026, 10, 27)

describe('a price list with hours', () => {
  const peak = {
    prompt: perMillion(0.44),
    completion: perMillion(1.32),
    utc_days: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
    except_dates: ['2026-10-01'],
  }
  const price = listOf({
    prompt: perMillion(0.22),
    completion: perMillion(0.66),
    overrides: [
      { ...peak, utc_start: 100, utc_end: 400 },
      { ...peak, utc_start: 600, utc_end: 1000 },
    ],
  })
  const inputAt = (at: number, list = price) => Number(priceAt(list, at).unitPrices.input)

  it.each([
    ['before the window', FRIDAY + HOUR - 1, 220_000],
    ['at its first instant', FRIDAY + HOUR, 440_000],
    ['at its last instant', FRIDAY + 4 * HOUR - 1, 440_000],
    ['at its end', FRIDAY + 4 * HOUR, 220_000],
    ['in the second window', FRIDAY + 9 * HOUR, 440_000],
    ['on a Saturday', FRIDAY + DAY + 2 * HOUR, 220_000],
    ['on a holiday', Date.UTC(2026, 9, 1, 2), 220_000],
    ['on the day before a holiday', Date.UTC(2026, 8, 30, 2), 440_000],
  ])('%s has its price', (_when, at, expected) => {
    expect(inputAt(at)).toBe(expected)
  })

  it('names the hours that applied, and finds the prices again by that name', () => {
    const at = priceAt(price, FRIDAY + HOUR)
    const { conditions } = billUsage(at, { usage: { input: 1 }, ...usage })
    expect(conditions).toEqual(['utc=01:00-04:00 utc_days=1,2,3,4,5 but_dates=1'])
    expect(unitPricesUnder(price, conditions).input).toBe(at.unitPrices.input)
    expect(unitPricesUnder(price, []).input).toBe(price.unitPrices.input)
  })

  it('keeps the minimum of a bill at any hour', () => {
    const least = { ...price, minimums: { milliseconds: 10_000 } }
    const at = priceAt(least, FRIDAY + HOUR)
    expect(billedUsage(at, { milliseconds: 1, characters: 2 })).toEqual({ milliseconds: 10_000, characters: 2 })
    expect(billedUsage(at, { characters: 2 })).toEqual({ characters: 2 })
  })

  it('may pass midnight', () => {
    const night = listOf({
      prompt: '0.000002',
      completion: '0',
      overrides: [{ prompt: '0.000001', utc_start: 2200, utc_end: 200 }],
    })
    expect([21, 22, 23, 0, 1, 2].map((hour) => inputAt(FRIDAY + hour * HOUR, night) / 1e6)).toEqual([2, 1, 1, 1, 1, 2])
  })
})

const price = fc.bigInt({ min: 0n, max: 1_000n }).map(picoUsd)
const TOKENS = ['input', 'output', 'cacheRead', 'cacheWrite', 'cacheWriteLong', 'cachedAudio', 'reasoning'] as const
const unitPrices = fc.dictionary(fc.constantFrom(...TOKENS), price, { maxKeys: 6 }) as fc.Arbitrary<UnitPrices>
const optional = <Value>(of: fc.Arbitrary<Value>) => fc.option(of, { nil: undefined })
const tier = optional(fc.constantFrom(...SERVICE_TIERS))
const overrides: fc.Arbitrary<PriceOverride[]> = fc.array(
  fc.record({
    name: fc.string(),
    unitPrices,
    when: fc.record({
      minPromptTokens: optional(fc.integer({ min: 1, max: 100 })),
      serviceTier: tier,
      utcWindow: optional(fc.constantFrom([0, 720] as const, [600, 60] as const)),
      utcDays: optional(fc.constantFrom([1, 5], [0, 6])),
      searchContext: optional(fc.constantFrom(...SEARCH_CONTEXTS)),
      regions: optional(fc.constantFrom(['us'], ['us', 'eu'])),
      imageQuality: optional(fc.constant('hd' as const)),
      imageSizes: optional(fc.constant(['1792x1024'])),
    }),
  }),
  { maxLength: 6 },
)
const lists: fc.Arbitrary<PriceLines> = fc.record({ unitPrices, overrides })
const facts = fc.record({
  promptTokens: fc.integer({ min: 0, max: 120 }),
  serviceTier: tier,
  searchContext: optional(fc.constantFrom(...SEARCH_CONTEXTS)),
  region: optional(fc.constantFrom('us', 'eu')),
  imageQuality: optional(fc.constant('hd')),
  imageSize: optional(fc.constant('1792x1024')),
})
const instants = fc.integer({ min: 0, max: 7 * 24 }).map((hours) => FRIDAY + hours * HOUR)

/** The prices of a call by the definition: each override that applies replaces the earlier prices. */
function byDefinition(list: PriceLines, facts: PriceFacts, at: number): UnitPrices {
  const { promptTokens, serviceTier } = facts
  let prices = list.unitPrices
  for (const { when, unitPrices: own } of list.overrides ?? []) {
    const minute = new Date(at).getUTCHours() * 60 + new Date(at).getUTCMinutes()
    const [start, end] = when.utcWindow ?? [0, 1_440]
    const isNow = start < end ? minute >= start && minute < end : minute >= start || minute < end
    const isDay = when.utcDays === undefined || when.utcDays.includes(new Date(at).getUTCDay())
    const isSize = promptTokens >= (when.minPromptTokens ?? 0)
    const isTier = when.serviceTier === undefined || when.serviceTier === serviceTier
    const isSearch = when.searchContext === undefined || when.searchContext === facts.searchContext
    const isRegion = when.regions === undefined || when.regions.some((region) => region === facts.region)
    const isQuality = when.imageQuality === undefined || when.imageQuality === facts.imageQuality
    const isShape = when.imageSizes === undefined || when.imageSizes.some((size) => size === facts.imageSize)
    const isCall = isSearch && isRegion && isQuality && isShape
    if (isNow && isDay && isSize && isTier && isCall) prices = { ...prices, ...own }
  }
  return prices
}

describe('any price list', () => {
  it('has the prices of its definition, in whatever order its conditions are decided', () => {
    fc.assert(
      fc.property(lists, facts, instants, (list, of, at) => {
        expect(unitPricesFor(priceAt({ version: 'v', ...list }, at), of)).toEqual(byDefinition(list, of, at))
      }),
    )
  })

  it('is bounded by the highest prices that a call can reach, class by class', () => {
    fc.assert(
      fc.property(lists, facts, instants, fc.integer({ min: 0, max: 20 }), (list, of, at, more) => {
        const now = priceAt({ version: 'v', ...list }, at)
        const reach = { ...of, promptTokens: of.promptTokens + more }
        const found = SEARCH_CONTEXTS.map((searchContext) => ({ ...of, searchContext }))
        const top = dearestPrices(now, reach)
        // The standard tier may serve a call that asked for another tier, and a search without a named context may
        // find as much as any.
        const { serviceTier: _tier, ...standard } = of
        for (const served of [of, standard, ...(of.searchContext === undefined ? found : [])]) {
          const prices = unitPricesFor(now, served)
          for (const name of USAGE_CLASSES) {
            const due = unitPrice(prices, name)
            if (due !== undefined) expect(unitPrice(top, name), name).toBeGreaterThanOrEqual(due)
          }
        }
      }),
      { numRuns: 500 },
    )
  })

  it('passes through the contract unchanged', () => {
    const [override] = GPT.overrides ?? []
    expect(PriceOverridesSchema.parse(JSON.parse(JSON.stringify(writeOverrides(GPT.overrides ?? []))))).toEqual(
      GPT.overrides,
    )
    expect(override?.name).toBe('prompt_tokens>=272000')
  })
})

describe('a contradictory price list', () => {
  const base = { prompt: '0.000001', completion: '0.000002' }
  it.each([
    ['without a condition', { prompt: '0.000001' }],
    ['without a price', { min_prompt_tokens: 10 }],
    ['a threshold of zero', { min_prompt_tokens: -1, prompt: '0.000001' }],
    ['an impossible day', { utc_days: ['noday'], prompt: '0.000001' }],
    ['an impossible date', { except_dates: ['yesterday'], prompt: '0.000001' }],
    ['an unknown size', { image_sizes: ['large'], prompt: '0.000001' }],
    ['an unknown region', { regions: ['The Moon'], prompt: '0.000001' }],
    ['no region', { regions: [], prompt: '0.000001' }],
    ['a picture size of a model without a price per picture', { image_quality: 'hd', image: '0.08' }],
    ['a window without length', { utc_start: 100, utc_end: 100, prompt: '0.000001' }],
  ])('is refused: an override %s', (_fault, override) => {
    expect(() => linesOf({ ...base, overrides: [override] })).toThrow(RangeError)
  })

  it('is refused: a region with a gap, into which a long prompt or a tier could fall', () => {
    const long = { min_prompt_tokens: 10, prompt: '0.000002', completion: '0.000003' }
    const us = { regions: ['us'], prompt: '0.0000011', completion: '0.0000022' }
    expect(() => linesOf({ ...base, overrides: [long, us] })).toThrow(/overrides\.0: a region has no line/)
    const half = { ...long, completion: undefined, regions: ['us'], prompt: '0.0000022' }
    expect(() => linesOf({ ...base, overrides: [long, us, half] })).toThrow(/overrides\.0: a region has no line/)
    const both = { ...long, regions: ['us'], prompt: '0.0000022', completion: '0.0000033' }
    expect(linesOf({ ...base, overrides: [long, us, both] }).overrides?.length).toBe(3)
    // Fees are the same in every region.
    const fee = { search_context_size: 'high', request: '0.01' }
    expect(linesOf({ ...base, overrides: [fee, us] }).overrides?.length).toBe(2)
  })

  it('is refused: two overrides under the same conditions', () => {
    const override = { min_prompt_tokens: 10, prompt: '0.000001' }
    expect(() => linesOf({ ...base, overrides: [override, override] })).toThrow(/same conditions/)
  })
})
