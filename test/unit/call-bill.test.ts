import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { BilledCall } from '#control-plane/db/settlements.ts'
import type { CallBill } from '#control-plane/services/usage/call-bill.ts'
import { billOfCall } from '#control-plane/services/usage/call-bill.ts'
import type { RequestId } from '#shared/ids.ts'
import { keptBps, picoUsd } from '#shared/money.ts'
import { unitPricesUnder } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { chargeUsage, listCost, writeUnitPrices } from '#shared/pricing.ts'
import type { Usage } from '#shared/usage.ts'
import { imageCount, usedTime } from '#shared/usage.ts'

type CallFields = { readonly prices: UnitPrices; readonly kept?: number; readonly model?: string }

/** The settlement of a usage, with the columns that the booking writes. */
function callOf(usage: Usage, { prices, kept = 6_000, model = 'gpt-5-mini' }: CallFields): BilledCall {
  const of = (...counts: (number | undefined)[]) => BigInt(counts.reduce((sum: number, count) => sum + (count ?? 0), 0))
  return {
    rid: '01ARZ3NDEKTSV4RRFFQ69G5FAV' as RequestId,
    model,
    key_id: 'key_test',
    endpoint: 'chat',
    charge: chargeUsage(prices, usage, keptBps(kept)),
    list_cost: listCost(prices, usage),
    kept_bps: kept,
    price_conditions: [],
    unit_prices: writeUnitPrices(prices),
    overrides: [],
    input_tokens: of(usage.input, usage.imageInput),
    cache_read_tokens: of(usage.cacheRead),
    cache_write_tokens: of(usage.cacheWrite, usage.cacheWriteLong),
    cache_write_long_tokens: of(usage.cacheWriteLong),
    output_tokens: of(usage.output, usage.imageOutput),
    reasoning_tokens: of(usage.reasoning),
    audio_input_tokens: of(usage.audioInput),
    audio_output_tokens: of(usage.audioOutput),
    image_input_tokens: of(usage.imageInput),
    image_output_tokens: of(usage.imageOutput),
    characters: of(usage.characters),
    images: of(imageCount(usage)),
    images_2k: of(usage.images2k),
    images_4k: of(usage.images4k),
    pixels: of(usage.pixels),
    milliseconds: of(usedTime(usage)),
    milliseconds_1080p: of(usage.milliseconds1080p),
    milliseconds_4k: of(usage.milliseconds4k),
    searches: of(usage.searches),
    calls: of(usage.calls),
  }
}

/** The sum of the lines of a bill. */
function sumOf({ lines, roundingMicro, otherMicro, discountMicro }: CallBill): number {
  return lines.reduce((sum, { amountMicro }) => sum + amountMicro, 0) + roundingMicro + otherMicro - discountMicro
}

/** The usage classes that have a column in the settlement. */
const CLASSES = [
  'input',
  'cacheRead',
  'cacheWrite',
  'cacheWriteLong',
  'output',
  'reasoning',
  'audioInput',
  'audioOutput',
  'imageInput',
  'imageOutput',
  'characters',
  'images',
  'images2k',
  'images4k',
  'pixels',
  'milliseconds',
  'milliseconds1080p',
  'milliseconds4k',
  'searches',
  'calls',
] as const

describe('the bill of a call', () => {
  it('adds up to the charge to the micro-USD, with a line for each cost', () => {
    const units = fc.record(Object.fromEntries(CLASSES.map((name) => [name, fc.integer({ min: 0, max: 50_000 })])), {
      requiredKeys: [],
    })
    const price = fc.bigInt({ min: 0n, max: 90_000_000n }).map(picoUsd)
    const list = fc.record(Object.fromEntries(CLASSES.map((name) => [name, price])), { requiredKeys: [] })
    fc.assert(
      fc.property(units, list, fc.integer({ min: 0, max: 10_000 }), (usage: Usage, prices: UnitPrices, kept) => {
        const call = callOf(usage, { prices, kept })
        const bill = billOfCall(call)
        expect(sumOf(bill)).toBe(Number(call.charge))
        expect(bill.otherMicro).toBe(0)
        expect(bill.roundingMicro).toBeGreaterThanOrEqual(0)
        expect(bill.roundingMicro).toBeLessThanOrEqual(bill.lines.length)
      }),
      { numRuns: 500 },
    )
  })

  it('has the quantity, the unit price and the amount of each class', () => {
    const prices = { input: picoUsd(250_000), cacheRead: picoUsd(25_000), output: picoUsd(2_000_000) }
    const call = callOf({ input: 1_200, cacheRead: 801, output: 300, reasoning: 50 }, { prices })
    expect(billOfCall(call)).toMatchObject({
      keyId: 'key_test',
      endpoint: 'chat',
      lines: [
        { item: 'input', quantity: 1_200, unit: 'token', priceUsd: '0.25', priceUnits: 1_000_000, amountMicro: 300 },
        { item: 'cache_read', quantity: 801, priceUsd: '0.025', amountMicro: 20 },
        { item: 'output', quantity: 300, priceUsd: '2', amountMicro: 600 },
        { item: 'reasoning', quantity: 50, priceUsd: '2', amountMicro: 100 },
      ],
      roundingMicro: 1,
      listCostMicro: 1_021,
      discountPct: 40,
      discountMicro: 408,
      buyerCostMicro: 613,
    })
    const film = callOf({ milliseconds4k: 2_500 }, { prices: { milliseconds4k: picoUsd(400_000_000) } })
    expect(billOfCall(film).lines).toMatchObject([
      { item: 'time_4k', quantity: 2.5, unit: 'second', priceUsd: '0.4', priceUnits: 1, amountMicro: 1_000_000 },
    ])
  })

  it('shows the prices of the conditions that applied', () => {
    const base = { input: picoUsd(1_000_000), output: picoUsd(4_000_000) }
    const long = { when: { minPromptTokens: 200_001 }, unitPrices: writeUnitPrices({ input: picoUsd(2_000_000) }) }
    const usage = { input: 300_000, output: 10 }
    const held = unitPricesUnder(
      { unitPrices: base, overrides: [{ name: 'long', when: {}, unitPrices: { input: picoUsd(2_000_000) } }] },
      ['long'],
    )
    const call = {
      ...callOf(usage, { prices: held }),
      unit_prices: writeUnitPrices(base),
      overrides: [long],
      price_conditions: ['prompt_tokens>=200001'],
    }
    expect(billOfCall(call)).toMatchObject({ lines: [{ priceUsd: '2' }, { priceUsd: '4' }], otherMicro: 0 })
    // The cost of a prompt that met no condition is more than a rounding difference.
    const mixed = { ...call, list_cost: call.list_cost - 100_000n }
    const bill = billOfCall(mixed)
    expect(bill).toMatchObject({ roundingMicro: 0, otherMicro: -100_000 })
    expect(sumOf(bill)).toBe(Number(mixed.charge))
  })

  it('equals the quote for a call on a lent key', () => {
    const call = { ...callOf({}, { prices: {}, model: 'resource/res_1' }), list_cost: 2_500n, charge: 2_000n }
    const bill = billOfCall(call)
    expect(bill.lines).toMatchObject([{ item: 'request', quantity: 1, priceUsd: '0.0025', amountMicro: 2_500 }])
    expect(sumOf(bill)).toBe(2_000)
  })
})
