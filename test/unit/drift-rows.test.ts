import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CallsRow, FailedRow } from '#control-plane/db/drift.ts'
import type { BilledRow } from '#control-plane/db/provider-bills.ts'
import { classOfLine } from '#control-plane/services/drift/billed-class.ts'
import { driftRows } from '#control-plane/services/drift/drift-rows.ts'

/** The day after the days of the rows. */
const TODAY = '2026-11-22'

const place = fc.record({
  provider: fc.constantFrom('a', 'b'),
  day: fc.constantFrom('2026-11-20', '2026-11-21'),
  model: fc.constantFrom('m', 'm-2026-01-01', 'm-2026-02-02', 'n'),
})
const count = fc.bigInt({ min: 0n, max: 1_000_000n })
const billed: fc.Arbitrary<BilledRow> = fc
  .tuple(
    place,
    fc.constantFrom('', 'input', 'cached input', 'cache write', 'cache write 1h', 'output', 'web search', 'fee'),
    count,
  )
  .map(([at, line, billedPico]) => ({ ...at, line, units: null, billedPico }))
const calls: fc.Arbitrary<CallsRow> = fc
  .tuple(place, fc.constantFrom('v1', 'v2', 'gone'), fc.tuple(count, count, count, count, count))
  .map(([at, priceVersion, [input, cacheRead, output, searches, list]]) => ({
    ...at,
    priceVersion,
    priceConditions: priceVersion === 'v2' ? ['prompt_tokens>=10'] : [],
    calls: 2,
    unpaid: 1,
    list: list.toString(),
    input,
    cacheRead,
    cacheWrite: cacheRead,
    cacheWriteLong: cacheRead / 3n,
    output,
    reasoning: 1n,
    audioInput: 0n,
    audioOutput: 0n,
    imageInput: 0n,
    imageOutput: 0n,
    searches,
  }))
const failed: fc.Arbitrary<FailedRow> = fc.tuple(place, fc.nat(9)).map(([at, count]) => ({ ...at, failed: count }))
const PRICES = [
  { version: 'v1', unitPrices: { input: '3', output: '15', cacheRead: '1', searches: '10' }, overrides: [] },
  {
    version: 'v2',
    unitPrices: { input: '3', output: '15' },
    overrides: [{ when: { minPromptTokens: 10 }, unitPrices: { input: '6' } }],
  },
]

describe('the rows of a drift', () => {
  it('add up to the billed amount less the list cost of all calls', () => {
    fc.assert(
      fc.property(
        fc.array(billed, { maxLength: 20 }),
        fc.array(calls, { maxLength: 20 }),
        fc.array(failed, { maxLength: 5 }),
        (bills, served, failures) => {
          const rows = driftRows({ billed: bills, calls: served, failures, prices: PRICES, today: TODAY })
          const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n)
          expect(sum(rows.map((row) => row.billed))).toBe(sum(bills.map(({ billedPico }) => billedPico)))
          expect(sum(rows.map((row) => row.list))).toBe(sum(served.map(({ list }) => BigInt(list) * 1_000_000n)))
          // Each region and class has one row.
          const keys = rows.map(({ provider, day, model, billedClass }) => `${provider} ${day} ${model} ${billedClass}`)
          expect(new Set(keys).size).toBe(keys.length)
        },
      ),
    )
  })

  it.each([
    ['', 'all'],
    ['cached input', 'cache_read'],
    ['cache_read_input_tokens', 'cache_read'],
    ['uncached_input_tokens', 'input'],
    ['cache_creation.ephemeral_1h_input_tokens', 'cache_write_long'],
    ['cache_creation.ephemeral_5m_input_tokens', 'cache_write'],
    ['1-hour cache write', 'cache_write_long'],
    ['cache_write_long', 'cache_write_long'],
    ['cache write', 'cache_write'],
    ['input', 'input'],
    ['output_tokens', 'output'],
    ['web search tool calls', 'searches'],
    ['code interpreter session', 'other'],
  ])('map the provider’s word "%s" to a part of the bill', (line, part) => {
    expect(classOfLine(line)).toBe(part)
  })

  const at = { provider: 'a', day: '2026-11-20', model: 'm' }
  const wrote = {
    ...at,
    priceVersion: 'w',
    priceConditions: [],
    calls: 1,
    unpaid: 0,
    list: '800000',
    input: 0n,
    cacheRead: 0n,
    cacheWrite: 120_000n,
    cacheWriteLong: 80_000n,
    output: 0n,
    reasoning: 0n,
    audioInput: 0n,
    audioOutput: 0n,
    imageInput: 0n,
    imageOutput: 0n,
    searches: 0n,
  }
  const prices = [
    {
      version: 'w',
      unitPrices: { input: '4000000', output: '1', cacheWrite: '5000000', cacheWriteLong: '7500000' },
      overrides: [],
    },
  ]
  const compare = (lines: Record<string, bigint>, more: Partial<Parameters<typeof driftRows>[0]> = {}) => {
    const bills = Object.entries(lines).map(([line, billedPico]) => ({ ...at, line, units: null, billedPico }))
    const rows = driftRows({ billed: bills, calls: [wrote], failures: [], prices, today: TODAY, ...more })
    return Object.fromEntries(rows.map(({ billedClass, list, cause }) => [billedClass, [list, cause]]))
  }

  it('have one-hour cache writes as a class of their own, unless the bill has one class for all writes', () => {
    const short = 200_000_000_000n
    const long = 600_000_000_000n
    expect(compare({ 'cache write': short, 'cache write 1h': long })).toEqual({
      cache_write: [short, 'none'],
      cache_write_long: [long, 'none'],
    })
    expect(compare({ 'cache write': short + long })).toEqual({ cache_write: [short + long, 'none'] })
    expect(compare({ 'cache write 1h': 2n * long })['cache_write_long']).toEqual([long, 'cache_writes'])
  })

  it('name failed calls as the cause where these explain the difference', () => {
    const failures = [{ ...at, failed: 1 }]
    expect(compare({ '': 1_600_000_000_000n }, { failures })['all']?.[1]).toBe('failed_calls')
    expect(compare({ '': 1_600_000_000_000n })['all']?.[1]).toBe('context_tier')
    expect(compare({ '': 1_000_000_000_000n }, { failures, calls: [] })['all']?.[1]).toBe('failed_calls')
    expect(compare({ '': 9_000_000_000_000n }, { failures })['all']?.[1]).toBe('key_used_elsewhere')
  })

  it.each([
    ['my-gpt', 'my-gpt?api-version=2025-01-01-preview'],
    [
      'claude-sonnet-4-5@20250929',
      'projects/p/locations/global/publishers/anthropic/models/claude-sonnet-4-5@20250929',
    ],
    ['gemini-2.5-pro', 'publishers/google/models/gemini-2.5-pro'],
  ])('match the bill of "%s" with the calls of "%s"', (model, sold) => {
    const bills = [{ ...at, model, line: '', units: null, billedPico: 800_000_000_000n }]
    const calls = [{ ...wrote, model: sold }]
    const rows = driftRows({ billed: bills, calls, failures: [], prices, today: TODAY })
    expect(rows).toMatchObject([{ model: sold, billed: 800_000_000_000n, list: 800_000_000_000n, cause: 'none' }])
  })

  it('have the cause `day_not_over` for a day that is not over, and no other', () => {
    expect(compare({ '': 1_000_000_000_000n }, { today: at.day })['all']?.[1]).toBe('day_not_over')
  })
})
