import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CallsRow } from '#control-plane/db/drift.ts'
import type { BilledRow } from '#control-plane/db/provider-bills.ts'
import { classOfLine } from '#control-plane/services/drift/billed-class.ts'
import { driftRows } from '#control-plane/services/drift/drift-rows.ts'

const place = fc.record({
  provider: fc.constantFrom('a', 'b'),
  day: fc.constantFrom('2026-11-20', '2026-11-21'),
  model: fc.constantFrom('m', 'm-2026-01-01', 'm-2026-02-02', 'n'),
})
const count = fc.bigInt({ min: 0n, max: 1_000_000n })
const billed: fc.Arbitrary<BilledRow> = fc
  .tuple(place, fc.constantFrom('', 'input', 'cached input', 'output', 'web search', 'fee'), count)
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
    cacheWrite: 0n,
    output,
    reasoning: 1n,
    audioInput: 0n,
    audioOutput: 0n,
    imageInput: 0n,
    imageOutput: 0n,
    searches,
  }))
const PRICES = [
  { version: 'v1', unitPrices: { input: '3', output: '15', cacheRead: '1', searches: '10' }, overrides: [] },
  {
    version: 'v2',
    unitPrices: { input: '3', output: '15' },
    overrides: [{ when: { minPromptTokens: 10 }, unitPrices: { input: '6' } }],
  },
]

describe('the rows of a drift', () => {
  it('add up to all that was billed less the list cost of all calls', () => {
    fc.assert(
      fc.property(fc.array(billed, { maxLength: 20 }), fc.array(calls, { maxLength: 20 }), (bills, served) => {
        const rows = driftRows(bills, served, PRICES)
        const sum = (values: readonly bigint[]) => values.reduce((total, value) => total + value, 0n)
        expect(sum(rows.map((row) => row.billed))).toBe(sum(bills.map(({ billedPico }) => billedPico)))
        expect(sum(rows.map((row) => row.list))).toBe(sum(served.map(({ list }) => BigInt(list) * 1_000_000n)))
        // Each place and class has one row.
        const keys = rows.map(({ provider, day, model, billedClass }) => `${provider} ${day} ${model} ${billedClass}`)
        expect(new Set(keys).size).toBe(keys.length)
      }),
    )
  })

  it.each([
    ['', 'all'],
    ['cached input', 'cache_read'],
    ['cache_read_input_tokens', 'cache_read'],
    ['uncached_input_tokens', 'input'],
    ['cache_creation.ephemeral_1h_input_tokens', 'cache_write'],
    ['input', 'input'],
    ['output_tokens', 'output'],
    ['web search tool calls', 'searches'],
    ['code interpreter session', 'other'],
  ])('know the part of a bill by the provider’s word "%s"', (line, part) => {
    expect(classOfLine(line)).toBe(part)
  })
})
