import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Ending, Receipt } from '#data-plane/call.ts'
import { billUsage } from '#data-plane/pipeline/meter/bill-usage.ts'
import { meterUsage } from '#data-plane/pipeline/meter/meter-usage.ts'
import { ceilingAt, limitWithin, quoteCall, withOutput } from '#data-plane/pipeline/plan/quote-call.ts'
import { rankOffers } from '#data-plane/store/market.ts'
import { chatUsageJson } from '#data-plane/wires/usage-json.ts'
import { systemClock } from '#shared/clock.ts'
import { createIds } from '#shared/ids.ts'
import { lookupRecordOf } from '#shared/lookup-record.ts'
import type { PicoUsd } from '#shared/money.ts'
import { add, chargeShare, KEEP_ALL, keptBps, microUsd, min, picoUsd, splitCharge } from '#shared/money.ts'
import type { PriceOverride, ServiceTier } from '#shared/price-list.ts'
import { SERVICE_TIERS } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { chargeUsage, inputBill, listCost } from '#shared/pricing.ts'
import { hasOutput } from '#shared/protocols/answers/reported-usage.ts'
import type { Usage } from '#shared/usage.ts'
import { inputTokens, outputTokens, USAGE_CLASSES } from '#shared/usage.ts'
import { usageEvent } from '#test/support/books/usage-events.ts'
import { buildDemand, buildModel, buildOffer, buildPlan, buildTarget } from '#test/support/bytes/build-market.ts'

const ids = createIds(systemClock)
const RUNS = { numRuns: 500 }
const TOKEN_CLASSES = ['input', 'cacheRead', 'cacheWrite', 'output', 'reasoning', 'audioInput', 'audioOutput'] as const

const tokens = fc.integer({ min: 0, max: 2_000_000 })
const bps = fc.integer({ min: 0, max: 10_000 }).map(keptBps)
/** Prices up to a hundred USD a million tokens, in the finest steps. */
const price = fc.bigInt({ min: 0n, max: 100_000_000n }).map(picoUsd)
const usage: fc.Arbitrary<Usage> = fc.record(Object.fromEntries(TOKEN_CLASSES.map((name) => [name, tokens])), {
  requiredKeys: [],
})
/** Input and output always have a price. The other classes may fall back to these. */
const prices: fc.Arbitrary<UnitPrices> = fc
  .record({ input: price, output: price, share: fc.integer({ min: 0, max: 100 }) })
  .map(({ input, output, share }) => ({ input, output, cacheRead: picoUsd((input * BigInt(share)) / 100n) }))
/** Any reported usage, with the delivered text. */
const ending: fc.Arbitrary<Ending> = fc.record({
  reported: fc.record(
    {
      inputTokens: tokens,
      outputTokens: tokens,
      cachedTokens: tokens,
      cacheWriteTokens: tokens,
      reasoningTokens: tokens,
      audioInputTokens: tokens,
      audioOutputTokens: tokens,
      searches: fc.integer({ min: 0, max: 40 }),
      insaneFields: fc.integer({ min: 0, max: 9 }),
    },
    { requiredKeys: ['insaneFields'] },
  ),
  finishReason: fc.constantFrom('stop', 'length', null),
  contentBytes: fc.integer({ min: 0, max: 100_000 }),
  reasoningBytes: fc.constant(0),
})

describe('a charge', () => {
  it('equals the seller’s share plus the fee, for any charge and any fee [I8]', () => {
    const amount = fc.bigInt({ min: 0n, max: 99_999_999_999_999n }).map(microUsd)
    fc.assert(
      fc.property(amount, bps, (charge, fee) => {
        const { sellerNet, fee: rest } = splitCharge(charge, fee)
        expect(add(sellerNet, rest)).toBe(charge)
        // The share is rounded down, by less than a micro-USD.
        expect(sellerNet * 10_000n).toBeLessThanOrEqual(charge * (10_000n - fee))
        expect((sellerNet + 1n) * 10_000n).toBeGreaterThan(charge * (10_000n - fee))
      }),
      RUNS,
    )
  })

  it('is rounded up once: never below the exact cost, and less than a micro-USD above', () => {
    fc.assert(
      fc.property(prices, usage, bps, (unitPrices, used, kept) => {
        let pico = 0n
        for (const name of TOKEN_CLASSES) {
          const fallback = name === 'output' || name === 'reasoning' || name === 'audioOutput' ? 'output' : 'input'
          pico += BigInt(used[name] ?? 0) * (unitPrices[name] ?? unitPrices[fallback] ?? 0n) * kept
        }
        const charge = chargeUsage(unitPrices, used, kept) * 10_000_000_000n
        expect(charge).toBeGreaterThanOrEqual(pico)
        expect(charge - pico).toBeLessThan(10_000_000_000n)
        expect(chargeUsage(unitPrices, used, kept)).toBeLessThanOrEqual(listCost(unitPrices, used))
      }),
      RUNS,
    )
  })

  it('does not grow by splitting: one bill is at most the sum of the bills of its classes', () => {
    fc.assert(
      fc.property(prices, usage, bps, (unitPrices, used, kept) => {
        const parts = USAGE_CLASSES.map((name) => chargeUsage(unitPrices, { [name]: used[name] ?? 0 }, kept))
        const whole = chargeUsage(unitPrices, used, kept)
        expect(whole).toBeLessThanOrEqual(parts.reduce((sum, part) => sum + part, 0n))
        expect(whole + BigInt(USAGE_CLASSES.length)).toBeGreaterThan(parts.reduce((sum, part) => sum + part, 0n))
      }),
      RUNS,
    )
  })
})

/** Classes and their prices of an override, some of them below those of the list. */
const overridden = fc.dictionary(fc.constantFrom(...TOKEN_CLASSES), price, { minKeys: 1, maxKeys: 4 })
const overrides: fc.Arbitrary<readonly PriceOverride[]> = fc.array(
  fc
    .record({
      minPromptTokens: fc.option(fc.integer({ min: 1, max: 250_000 }), { nil: undefined }),
      serviceTier: fc.option(fc.constantFrom(...SERVICE_TIERS), { nil: undefined }),
      unitPrices: overridden,
    })
    .map(({ unitPrices, minPromptTokens, serviceTier }) => ({
      name: 'drawn',
      when: { ...(minPromptTokens && { minPromptTokens }), ...(serviceTier && { serviceTier }) },
      unitPrices,
    })),
  { maxLength: 5 },
)

const bounds = fc.record({
  overrides,
  serviceTier: fc.option(fc.constantFrom(...SERVICE_TIERS), { nil: undefined }),
  inputTokens: fc.integer({ min: 1, max: 200_000 }),
  maxOutputTokens: fc.option(fc.integer({ min: 1, max: 20_000 }), { nil: undefined }),
  choices: fc.integer({ min: 1, max: 8 }),
  features: fc.constantFrom<string[]>([], ['reasoning']),
  searches: fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined }),
  searchPrice: fc.option(price, { nil: undefined }),
})

/** A call with its quote at two offers, the lower-priced one first. */
function quoted(drawn: {
  overrides: readonly PriceOverride[]
  serviceTier: ServiceTier | undefined
  inputTokens: number
  maxOutputTokens: number | undefined
  choices: number
  features: string[]
  searches: number | undefined
  searchPrice: PicoUsd | undefined
}) {
  const bare = buildTarget(buildModel({ features: drawn.features }))
  const { inputTokens: input, maxOutputTokens, choices, serviceTier, searches, searchPrice } = drawn
  const unitPrices = { ...bare.price.unitPrices, ...(searchPrice !== undefined && { searches: searchPrice }) }
  const target = { ...bare, price: { ...bare.price, unitPrices, overrides: drawn.overrides } }
  const demand = buildDemand({
    needs: {
      imageInput: false,
      ...(serviceTier && {
        costly: [{ param: 'service_tier', surcharge: 'service_tier', tier: serviceTier } as const],
      }),
      ...(searches !== undefined && { searches }),
    },
    bounds: { inputTokens: input, inputImages: 0, inputBytes: input, maxOutputTokens, choices },
  })
  const offers = rankOffers([buildOffer({ keptBps: keptBps(6_000) }), buildOffer({ keptBps: keptBps(9_000) })])
  return { target, demand, offers, quote: quoteCall({ rid: ids.requestId(), target, demand, totalMs: 1 }, offers) }
}

describe('a hold', () => {
  it('covers the charge of any offer within the forwarded limit [I7]', () => {
    fc.assert(
      fc.property(bounds, fc.double({ min: 0, max: 1, noNaN: true }), (drawn, part) => {
        const { offers, quote } = quoted(drawn)
        const { wantMicro, minMicro, bound } = quote
        expect(minMicro).toBeLessThanOrEqual(wantMicro)
        const granted = microUsd(minMicro + BigInt(Math.floor(Number(wantMicro - minMicro) * part)))
        for (const { keptBps: kept } of offers) {
          const limit = limitWithin(bound, kept, granted)
          if (limit === undefined) continue
          expect(ceilingAt(kept, withOutput(bound, limit * bound.choices))).toBeLessThanOrEqual(granted)
        }
      }),
      RUNS,
    )
  })

  it('is never exceeded by a charge, whatever the provider reports [I7, I11]', () => {
    fc.assert(
      fc.property(bounds, ending, fc.boolean(), (drawn, end, isServed) => {
        const { target, demand, offers, quote } = quoted(drawn)
        for (const offer of offers) {
          const maxOutputTokens = limitWithin(quote.bound, offer.keptBps, quote.wantMicro) ?? 1
          const metered = meterUsage(buildPlan({ target, offer, maxOutputTokens }), demand, end)
          const served = isServed && drawn.serviceTier ? { serviceTier: drawn.serviceTier } : {}
          const { whole } = billUsage(target.price, { ...metered, ...served })
          const due = chargeShare(whole, offer.keptBps)
          // Only the provider's own system prompt can cost more than the hold.
          const frame = ceilingAt(KEEP_ALL, withOutput({ ...quote.bound, inputTokens: 1_025 }, 65))
          expect(due).toBeLessThanOrEqual(quote.wantMicro + frame)
          expect(min(due, quote.wantMicro)).toBeLessThanOrEqual(quote.wantMicro)
          if (end.contentBytes === 0 && !hasOutput(end.reported)) expect(due).toBe(0n)
        }
      }),
      RUNS,
    )
  })
})

const Chat = (receipt: Receipt) => JSON.parse(chatUsageJson(receipt))

describe('the projections of one usage', () => {
  it('metered classes add up to the provider’s totals, as far as these totals are accepted', () => {
    fc.assert(
      fc.property(bounds, ending, (drawn, end) => {
        const { target, demand } = quoted(drawn)
        const { usage: used, source } = meterUsage(buildPlan({ target, maxOutputTokens: 1_000 }), demand, end)
        for (const name of USAGE_CLASSES) expect(used[name] ?? 0).toBeGreaterThanOrEqual(0)
        if (source !== 'reported' || end.contentBytes === 0) return
        expect(inputTokens(used)).toBeLessThanOrEqual(end.reported.inputTokens ?? 0)
        expect(outputTokens(used)).toBeLessThanOrEqual(end.reported.outputTokens ?? 0)
      }),
      RUNS,
    )
  })

  it('are the same on the chat wire, in the look-up and in the charge [I13]', () => {
    fc.assert(
      fc.property(prices, usage, bps, (unitPrices, used, kept) => {
        const chargeMicro = chargeUsage(unitPrices, used, kept)
        const listMicro = listCost(unitPrices, used)
        const body = Chat({
          usage: used,
          chargeMicro,
          listMicro,
          listInputMicro: chargeShare(inputBill(unitPrices, used), KEEP_ALL),
        })
        expect(body.total_tokens).toBe(body.prompt_tokens + body.completion_tokens)
        const all = TOKEN_CLASSES.reduce((sum, name) => sum + (used[name] ?? 0), 0)
        expect(body.total_tokens).toBe(all)
        const { cached_tokens, cache_write_tokens, audio_tokens } = body.prompt_tokens_details
        expect(body.prompt_tokens - cached_tokens - cache_write_tokens - audio_tokens).toBe(used.input ?? 0)
        const details = body.completion_tokens_details
        expect(body.completion_tokens - details.reasoning_tokens - details.audio_tokens).toBe(used.output ?? 0)
        expect(BigInt(body.buyer_cost_micro)).toBe(chargeMicro)
        expect(Math.round(body.cost * 1e6)).toBe(body.buyer_cost_micro)

        const event = { ...usageEvent({ charge: 0 }), usage: used, chargeMicro, listMicro }
        const lookup = lookupRecordOf(Object.assign(event, { attempts: [], rail: 'credit' }) as never, {
          settlement_status: 'accrued',
          settlement_error: null,
          confirmed_at: null,
          tx_hash: null,
        })
        expect(lookup.input_tokens + lookup.output_tokens).toBe(body.total_tokens)
        expect(lookup.buyer_cost_micro).toBe(body.buyer_cost_micro)
      }),
      RUNS,
    )
  })
})
