import { calcPrice, findProvider } from '@pydantic/genai-prices'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { priceLinesOf } from '#control-plane/services/catalog/catalog-items.ts'
import type { KeptModel } from '#control-plane/services/catalog/kept/kept-models.ts'
import { KEPT, readKeptModels } from '#control-plane/services/catalog/kept/kept-models.ts'
import { readPackagePrices } from '#control-plane/services/catalog/kept/package-prices.ts'
import { DAY, HOUR, MINUTE } from '#shared/clock.ts'
import { priceAt, unitPricesFor } from '#shared/price-list.ts'
import { listCost } from '#shared/pricing.ts'
import type { Usage } from '#shared/usage.ts'
import { inputTokens } from '#shared/usage.ts'

/** Labs whose provider has another name in the package. */
const MAKERS: Readonly<Record<string, string>> = { mistralai: 'mistral', 'z-ai': 'zai' }
const NOW = Date.parse('2026-11-27T12:00:00Z')
const { models, unread } = await readKeptModels(NOW)
const packaged = models.flatMap(({ packaged: place, ...model }) => (place === undefined ? [] : [{ ...model, place }]))
type Packaged = (typeof packaged)[number]
const trusted = packaged.filter(({ doubt }) => doubt === undefined)
const named = (id: string): Packaged => {
  const found = packaged.find(({ item }) => item.canonical === id)
  if (found === undefined) throw new Error(`${id} is no model of the package`)
  return found
}

/** Our bill of a standard call in micro-USD, by the prices of its instant. */
function oursOf({ prices, item }: Pick<KeptModel, 'prices' | 'item'>, usage: Usage, at: number): bigint {
  const dated = prices.findLast(({ from }) => from === null || from <= at)
  if (dated === undefined) throw new Error('no prices')
  const lines = priceLinesOf({ pricing: dated.pricing, unit_pricing: item.unit_pricing })
  const list = priceAt({ version: 'kept', ...lines }, at)
  return listCost(unitPricesFor(list, { promptTokens: inputTokens(usage) }), usage)
}

/** The package's bill of the same call, rounded up as the market's bill is. */
function theirsOf({ place }: Packaged, usage: Usage, at: number): bigint {
  const { cacheRead = 0, cacheWrite = 0, cacheWriteLong = 0, output = 0, searches = 0 } = usage
  const provider = findProvider({ providerId: place.provider })
  const model = provider?.models.find(({ id }) => id === place.model)
  if (provider === undefined || model === undefined) throw new Error(`the package has no ${place.model}`)
  const asked = {
    input_tokens: inputTokens(usage),
    cache_read_tokens: cacheRead,
    cache_write_tokens: cacheWrite + cacheWriteLong,
    cache_write_1h_tokens: cacheWriteLong,
    output_tokens: output,
    web_searches: searches,
  }
  // A lookup in the whole provider would find another model with the same name.
  const calculated = calcPrice(asked, model.id, {
    provider: { ...provider, models: [{ ...model, match: { equals: model.id } }] },
    timestamp: new Date(at),
  })
  if (calculated === null) throw new Error(`the package has no price of ${place.model}`)
  const pico = BigInt(Math.round(calculated.total_price * 1e12))
  return (pico + 999_999n) / 1_000_000n
}

/** The numbers of prompt tokens around every threshold of a model. */
function edgesOf({ item }: Packaged): number[] {
  const starts = (item.pricing.overrides ?? []).flatMap(({ min_prompt_tokens: start }) => start ?? [])
  return [...new Set(starts)].flatMap((start) => [start - 1, start, start + 1, start + 2])
}

/** Prompts of any size and around the thresholds, split into fresh tokens, cache reads and cache writes. */
const callsOf = (model: Packaged) =>
  fc
    .record({
      prompt: fc.oneof(fc.nat({ max: 1_000_000 }), fc.constantFrom(0, ...edgesOf(model))),
      cuts: fc.tuple(fc.nat({ max: 100 }), fc.nat({ max: 100 }), fc.nat({ max: 100 })),
      output: fc.nat({ max: 128_000 }),
      searches: fc.nat({ max: 20 }),
      at: fc.integer({ min: NOW, max: NOW + 90 * DAY }),
    })
    .map(({ prompt, cuts, output, searches, at }) => {
      const [read, write, long] = cuts.map((cut) => Math.floor((prompt * cut) / 400)) as [number, number, number]
      const usage: Usage = {
        input: prompt - read - write - long,
        cacheRead: read,
        cacheWrite: write,
        cacheWriteLong: long,
        output,
        searches,
        calls: 1,
      }
      return { model, usage, at }
    })

describe('prices out of the package', () => {
  it('are all readable, with their source', () => {
    expect(unread).toEqual([])
    expect(models.length).toBeGreaterThanOrEqual(200)
    for (const { source } of models) expect(source.startsWith(KEPT)).toBe(true)
    for (const { source } of packaged) expect(source).toMatch(/genai-prices 0\.1\.8, [a-z-]+, 2026-09-22/)
  })

  it('give the same micro-USD as its calculator, for 2,000 calls of all models, tiers and dates', () => {
    fc.assert(
      fc.property(fc.constantFrom(...trusted).chain(callsOf), ({ model, usage, at }) => {
        expect([model.place.model, oursOf(model, usage, at)]).toEqual([model.place.model, theirsOf(model, usage, at)])
      }),
      { numRuns: 2_000 },
    )
  })

  it('give the same at every threshold and date of every model', () => {
    for (const model of trusted) {
      const dates = model.prices.flatMap(({ from }) => (from === null || from < NOW ? [] : [from - 1, from]))
      for (const prompt of [1, 1_000, ...edgesOf(model)]) {
        for (const at of [NOW, ...dates]) {
          const usage = { input: prompt, output: 1_000, calls: 1 }
          expect([model.place.model, prompt, at, oursOf(model, usage, at)]).toEqual([
            model.place.model,
            prompt,
            at,
            theirsOf(model, usage, at),
          ])
        }
      }
    }
  })

  it('exist for every model of a maker that the package knows, except media and models of several hosts', () => {
    const others = models.flatMap(({ item, packaged: place }) => {
      const lab = item.id.split('/')[0] ?? ''
      const known = findProvider({ providerId: MAKERS[lab] ?? lab })?.models ?? []
      const names = [item.canonical, ...item.aliases]
      return place === undefined && known.some(({ id }) => names.includes(id)) ? [item.canonical] : []
    })
    expect(others).toEqual([
      // The weights of these models are open, and hosts sell them for less than their makers.
      'gpt-oss-120b',
      'gpt-oss-20b',
      'mistral-large-2512',
      'mistral-small-3.2-24b-instruct',
      'mistral-nemo',
      'deepseek-v3.2',
      'deepseek-v3.2-exp',
      'deepseek-r1-0528',
      'kimi-k2-0905',
      'kimi-k2',
      // The fee of a request depends on the size of its search.
      'sonar-pro',
      'sonar',
      // Units other than tokens, or tokens of no answer.
      'mistral-embed-2312',
      'gpt-4o-mini-tts',
      'whisper-1',
      'gpt-image-1',
    ])
  })

  it('differ on purpose for these models alone, each with its reason', () => {
    const doubted = packaged.flatMap(({ item, doubt }) => (doubt === undefined ? [] : [[item.canonical, doubt]]))
    expect(doubted).toEqual([
      ['claude-sonnet-4', expect.stringContaining('long context')],
      ['deepseek-v4-flash', expect.stringContaining('working days in Beijing')],
      ['deepseek-v4-pro', expect.stringContaining('working days in Beijing')],
      ['sonar-reasoning-pro', expect.stringContaining('search_context_size')],
      ['glm-5.3-flash', expect.stringContaining('launch promotion')],
    ])
    const usage = { input: 1_000_000, output: 1_000_000, calls: 1 }
    expect(oursOf(named('sonar-reasoning-pro'), usage, NOW)).toBe(2_000_000n + 8_000_000n + 6_000n)
    expect(oursOf(named('glm-5.3-flash'), usage, NOW)).toBe(150_000n + 500_000n)
  })

  it('are those of the peak on working days alone, and exclude the end of a window', () => {
    const model = named('deepseek-v4-pro')
    const usage = { input: 1_000_000, output: 1_000_000 }
    const [peak, low] = [5_280_000n, 2_640_000n]
    const monday = Date.parse('2026-11-30T00:00:00Z')
    const costs = [0, HOUR - 1, HOUR, 4 * HOUR - 1, 4 * HOUR, 6 * HOUR, 10 * HOUR - 1, 10 * HOUR]
    expect(costs.map((after) => oursOf(model, usage, monday + after))).toEqual([
      low,
      low,
      peak,
      peak,
      low,
      peak,
      peak,
      low,
    ])
    for (const after of costs) {
      expect(theirsOf(model, usage, monday + after)).toBe(oursOf(model, usage, monday + after))
      expect(oursOf(model, usage, monday + after - 2 * DAY)).toBe(low)
    }
    expect(oursOf(model, usage, Date.parse('2027-01-01T02:00:00Z'))).toBe(low)
    expect(theirsOf(model, usage, Date.parse('2027-01-01T02:00:00Z'))).toBe(peak)
  })

  it('begin on their day, and not earlier', () => {
    const model = named('gemini-3.8-flash')
    const usage = { input: 1_000_000, output: 1_000_000 }
    const start = Date.parse('2027-01-01T00:00:00Z')
    expect([start - 1, start].map((at) => oursOf(model, usage, at))).toEqual([4_500_000n, 9_000_000n])
    // The current catalogue has the current prices.
    expect(Number(model.item.pricing.prompt)).toBe(0.75e-6)
  })

  it('change for the whole call at a threshold, its output too', () => {
    const model = named('gpt-5.5')
    const cost = (input: number) => oursOf(model, { input, output: 1_000 }, NOW)
    expect([271_999, 272_000].map(cost)).toEqual([271_999n * 5n + 30_000n, 272_000n * 10n + 45_000n])
    const long = named('gpt-6-sol')
    expect([272_000, 272_001].map((input) => oursOf(long, { input, output: 1_000 }, NOW))).toEqual([
      272_000n * 2n + 10_000n,
      272_001n * 4n + 15_000n,
    ])
  })
})

describe('an entry of the package', () => {
  const read = (prices: Parameters<typeof readPackagePrices>[0]['prices'], hasNoOutput = false) =>
    readPackagePrices({ prices }, { hasNoOutput })
  const peak = (start: string, end: string) => ({ type: 'time_of_date' as const, start_time: start, end_time: end })

  it.each<[string, Parameters<typeof readPackagePrices>[0]['prices'], string]>([
    ['no input price', { output_mtok: 1 }, 'input_mtok: the price is missing'],
    ['no output price', { input_mtok: 1 }, 'output_mtok: the price is missing'],
    ['a free price', { input_mtok: 1, output_mtok: 0 }, 'output_mtok: 0 is no price'],
    ['a negative price', { input_mtok: -1, output_mtok: 1 }, 'input_mtok: -1 is no price'],
    ['an infinite price', { input_mtok: Number.POSITIVE_INFINITY, output_mtok: 1 }, 'input_mtok: Infinity is no price'],
    ['an unknown class', { input_mtok: 1, output_mtok: 1, lines_mtok: 1 }, 'lines_mtok: no usage class has this price'],
    [
      'tiers that fall',
      {
        input_mtok: {
          base: 1,
          tiers: [
            { start: 200, price: 2 },
            { start: 100, price: 3 },
          ],
        },
        output_mtok: 1,
      },
      'input_mtok: tiers do not rise',
    ],
    [
      'prices of a window alone',
      [{ constraint: peak('01:00:00Z', '02:00:00Z'), prices: { input_mtok: 1, output_mtok: 1 } }],
      'prices: no entry counts at every time of the day',
    ],
    [
      'a window with a gap',
      [
        { prices: { input_mtok: 1, cache_read_mtok: 0.1, output_mtok: 1 } },
        { constraint: peak('01:00:00Z', '02:00:00Z'), prices: { input_mtok: 2, output_mtok: 2 } },
      ],
      'input_cache_read: the price is missing in a window of the day',
    ],
    [
      'a window of half a minute',
      [
        { prices: { input_mtok: 1, output_mtok: 1 } },
        { constraint: peak('01:00:30Z', '02:00:00Z'), prices: { input_mtok: 2, output_mtok: 2 } },
      ],
      'time_of_date: 01:00:30Z is no minute of the UTC day',
    ],
    [
      'an impossible date',
      [
        { prices: { input_mtok: 1, output_mtok: 1 } },
        { constraint: { type: 'start_date', start_date: '2027-13-01' }, prices: { input_mtok: 2, output_mtok: 2 } },
      ],
      'start_date: 2027-13-01 is no date',
    ],
  ])('with %s is refused by its line', (_title, prices, message) => {
    expect(() => read(prices)).toThrow(new RangeError(message))
  })

  it('has exact prices of one token', () => {
    const [{ pricing } = expect.fail('no prices')] = read({ input_mtok: 0.075, output_mtok: 1e-7, requests_kcount: 12 })
    const { unitPrices } = priceLinesOf({ pricing: { ...pricing, completion: '0.3e-6' } })
    expect([unitPrices.input, unitPrices.calls]).toEqual([75_000n, 12_000_000_000n])
    expect(() => priceLinesOf({ pricing })).toThrow(RangeError)
    const [{ pricing: drifted } = expect.fail('no prices')] = read({ input_mtok: 0.18000000000000002, output_mtok: 1 })
    expect(() => priceLinesOf({ pricing: drifted })).toThrow(/finer/)
  })

  it('for embeddings has no output price, and no other model has free output', () => {
    expect(read({ input_mtok: 0.02 }, true)[0]?.pricing).toEqual({ prompt: '0.02e-6', completion: '0' })
  })

  it('is priced by its last price that applies, as in the calculator', () => {
    const at = (minute: number) => NOW + minute * MINUTE
    const prices = [
      { prices: { input_mtok: 1, output_mtok: 1 } },
      { constraint: peak('11:00:00Z', '13:00:00Z'), prices: { input_mtok: 8, output_mtok: 8 } },
      {
        constraint: { type: 'start_date' as const, start_date: '2027-01-01' },
        prices: { input_mtok: 2, output_mtok: 2 },
      },
      { constraint: peak('12:00:00Z', '12:30:00Z'), prices: { input_mtok: 4, output_mtok: 4 } },
    ]
    const dated = read(prices)
    const item = named('gpt-5.5').item
    const cost = (instant: number) => oursOf({ prices: dated, item }, { input: 1_000_000 }, instant)
    expect([at(-90), at(-1), at(0), at(30)].map(cost)).toEqual([1n, 8n, 4n, 8n].map((dollars) => dollars * 1_000_000n))
    const year = Date.parse('2027-01-01T00:00:00Z')
    expect([year + 11 * HOUR, year + 12 * HOUR].map(cost)).toEqual([2_000_000n, 4_000_000n])
  })
})
