import { describe, expect, it } from 'vitest'
import type { Demand, ModelTarget } from '#data-plane/call.ts'
import { boundOf, limitWithin, quoteCall } from '#data-plane/pipeline/plan/quote-call.ts'
import { rankOffers } from '#data-plane/store/market.ts'
import { systemClock } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { createIds } from '#shared/ids.ts'
import { keptBps, microUsd, picoUsd } from '#shared/money.ts'
import { buildDemand, buildModel, buildOffer, buildTarget } from '#test/support/bytes/build-market.ts'

const ids = createIds(systemClock)
const target = buildTarget()
const offers = rankOffers([buildOffer({ keptBps: keptBps(5_000) }), buildOffer({ keptBps: keptBps(10_000) })])

/** The reference price is 1 micro-USD for an input token and 10 for an output token. */
function quote(given: Partial<Demand['bounds']> = {}, maxCost?: number) {
  const bounds = { ...buildDemand().bounds, inputTokens: 100, ...given }
  const demand = buildDemand({ bounds, maxCostMicro: maxCost === undefined ? undefined : microUsd(maxCost) })
  return quoteCall({ rid: ids.requestId(), target, demand, totalMs: 600_000 }, offers)
}

describe('quoting a call', () => {
  it('asks for the bound of the most expensive candidate, and at least for that of the lowest-priced one', () => {
    expect(quote({ maxOutputTokens: 50 })).toMatchObject({ wantMicro: 600n, minMicro: 300n, ttlMs: 630_000 })
  })

  it('bounds an answer without a limit by the model and 8,192 tokens, and accepts a hold for 256', () => {
    expect(quote({ maxOutputTokens: undefined })).toMatchObject({ wantMicro: 82_020n, minMicro: 1_330n })
  })

  it('multiplies by choices, and counts every image', () => {
    expect(quote({ maxOutputTokens: 50, choices: 3 })).toMatchObject({ wantMicro: 1_600n })
    expect(quote({ maxOutputTokens: 50, inputImages: 2 })).toMatchObject({ wantMicro: 2_600n })
  })

  it('holds no output for a model without output, in every protocol', () => {
    const none = { maxOutputTokens: 0 }
    expect(quote(none)).toMatchObject({ wantMicro: 100n, minMicro: 50n })
    const demand = buildDemand({ bounds: { ...buildDemand().bounds, inputTokens: 100, ...none } })
    expect(limitWithin(boundOf(target, demand), keptBps(10_000), microUsd(100))).toBe(0)
  })

  it('counts every search that the call may make, with the pages of its results', () => {
    const searches = picoUsd(10_000_000_000n)
    const priced = { ...target, price: { ...target.price, unitPrices: { ...target.price.unitPrices, searches } } }
    const wanted = (needs: object, of: ModelTarget = priced) => {
      const bounds = { ...buildDemand().bounds, inputTokens: 100, maxOutputTokens: 50 }
      const demand = buildDemand({ bounds, needs: { imageInput: false, ...needs } })
      return quoteCall({ rid: ids.requestId(), target: of, demand, totalMs: 600_000 }, offers).wantMicro
    }
    expect(wanted({ searches: 8 })).toBe(600n + 8n * (10_000n + 20_000n))
    expect(wanted({ costly: [{ param: 'web_search_options', surcharge: 'search' }] })).toBe(600n + 5n * 30_000n)
    expect(wanted({})).toBe(600n)
    // A model without a price for searches makes none.
    expect(wanted({ searches: 8 }, target)).toBe(600n)
  })

  it('counts the minimum bill of a transcript', () => {
    const price = {
      version: 'test',
      unitPrices: { milliseconds: picoUsd(100_000n) },
      minimums: { milliseconds: 10_000 },
    }
    const wanted = (milliseconds: number) => {
      const units = { most: { milliseconds }, least: { milliseconds } }
      const bounds = { ...buildDemand().bounds, inputTokens: 0, maxOutputTokens: 0, units }
      const asked = { rid: ids.requestId(), target: { ...target, price }, totalMs: 600_000 }
      return quoteCall({ ...asked, demand: buildDemand({ bounds }) }, offers).wantMicro
    }
    expect([wanted(1_000), wanted(10_000), wanted(12_000)]).toEqual([1_000n, 1_000n, 1_200n])
  })

  it('counts the largest search context where the call names none, else the one that it names', () => {
    const fees = { low: 5_000n, medium: 8_000n, high: 12_000n }
    const feeOf = (micro: bigint) => ({ calls: picoUsd(micro * 1_000_000n) })
    const overrides = (['low', 'medium', 'high'] as const).map((searchContext) => {
      return { name: searchContext, when: { searchContext }, unitPrices: feeOf(fees[searchContext]) }
    })
    const price = { version: 'test', unitPrices: { ...target.price.unitPrices, ...feeOf(5_000n) }, overrides }
    const wanted = (searchContext?: 'low' | 'medium' | 'high') => {
      const costly = [
        { param: 'web_search_options', surcharge: 'search' as const, ...(searchContext && { searchContext }) },
      ]
      const bounds = { ...buildDemand().bounds, inputTokens: 100, maxOutputTokens: 50 }
      const demand = buildDemand({ bounds, needs: { imageInput: false, costly } })
      return quoteCall({ rid: ids.requestId(), target: { ...target, price }, demand, totalMs: 600_000 }, offers)
        .wantMicro
    }
    expect([wanted(), wanted('low'), wanted('medium'), wanted('high')]).toEqual([12_600n, 5_600n, 8_600n, 12_600n])
  })

  it('keeps the number of pictures under the buyer’s own ceiling', () => {
    const images = { count: 2, size: undefined, resolution: undefined, quality: undefined }
    // Two pictures of 6,240 tokens at 10 micro-USD, and 100 tokens of the prompt, at half the price.
    expect(quote({ images }).minMicro).toBe(62_450n)
    expect(quote({ images }, 62_450)).toMatchObject({ minMicro: 62_450n, wantMicro: 62_450n })
    expect(() => quote({ images }, 62_449)).toThrow(expect.objectContaining({ code: 'cost_ceiling_reached' }))
  })

  it('is the sum of the bounds of several exchanges, each with its own window and price per call', () => {
    const own = { ...buildDemand().bounds, inputTokens: 100 }
    const each = [own, { ...own, inputTokens: 9_000_000 }, own]
    expect(quote({ inputTokens: 9_000_200, maxOutputTokens: 1, choices: 3, each }).wantMicro).toBe(128_230n)
    const demand = buildDemand({ bounds: { ...own, inputTokens: 300, maxOutputTokens: 1, choices: 3, each } })
    const priced = { ...target.price, unitPrices: { ...target.price.unitPrices, calls: picoUsd(7_000_000n) } }
    const asked = { rid: ids.requestId(), target: { ...target, price: priced }, demand, totalMs: 600_000 }
    expect(quoteCall(asked, offers).wantMicro).toBe(128_230n + 3n * 7n)
  })

  it('never holds for more input than the context window', () => {
    expect(quote({ inputTokens: 9_000_000, maxOutputTokens: 1 }).wantMicro).toBe(128_010n)
  })

  it('shortens the answer to the buyer’s ceiling, and refuses below one token', () => {
    expect(quote({ maxOutputTokens: 50 }, 400)).toMatchObject({ wantMicro: 400n, minMicro: 300n })
    expect(quote({ maxOutputTokens: 50 }, 200)).toMatchObject({ wantMicro: 200n, minMicro: 200n })
    expect(() => quote({ maxOutputTokens: 50 }, 54)).toThrow(AppError)
  })
})

describe('an offer whose protocol takes no limit below 16 tokens', () => {
  const least = 16
  const [raised] = rankOffers([buildOffer({ keptBps: keptBps(10_000), apiFormat: 'responses' })])
  const ask = (maxOutputTokens: number, maxCost?: number, all = raised === undefined ? [] : [raised]) => {
    const bounds = { ...buildDemand().bounds, inputTokens: 100, maxOutputTokens, choices: 2 }
    const demand = buildDemand({ bounds, maxCostMicro: maxCost === undefined ? undefined : microUsd(maxCost) })
    return quoteCall({ rid: ids.requestId(), target, demand, totalMs: 600_000 }, all)
  }

  it('is quoted at the lowest limit that its protocol can send', () => {
    const { wantMicro, minMicro, bound } = ask(5)
    expect([wantMicro, minMicro]).toEqual([420n, 420n])
    expect(limitWithin(bound, keptBps(10_000), wantMicro, least)).toBe(least)
    expect(limitWithin(bound, keptBps(10_000), microUsd(419), least)).toBeUndefined()
  })

  it('does not raise the quote of a call that another offer can serve', () => {
    const quoted = ask(5, undefined, [...offers, ...(raised === undefined ? [] : [raised])])
    expect([quoted.wantMicro, quoted.minMicro]).toEqual([420n, 100n])
  })

  it('is left out where the hold covers fewer tokens, and refuses a ceiling below its lowest limit', () => {
    const { bound } = ask(50)
    expect(limitWithin(bound, keptBps(10_000), microUsd(400), least)).toBeUndefined()
    expect(limitWithin(bound, keptBps(10_000), microUsd(420), least)).toBe(least)
    expect(() => ask(50, 419)).toThrow(expect.objectContaining({ code: 'cost_ceiling_reached' }))
    expect(ask(50, 420).wantMicro).toBe(420n)
  })
})

describe('the output limit within a hold', () => {
  const { bound } = quote({ maxOutputTokens: 50 })

  it('is the whole limit where the hold covers it', () => {
    expect(limitWithin(bound, keptBps(10_000), microUsd(600))).toBe(50)
  })

  it('is the rest after the input otherwise', () => {
    expect(limitWithin(bound, keptBps(10_000), microUsd(400))).toBe(30)
    expect(limitWithin(bound, keptBps(5_000), microUsd(400))).toBe(50)
  })

  it('is zero where the input alone costs more', () => {
    expect(limitWithin(bound, keptBps(10_000), microUsd(100))).toBeUndefined()
    expect(limitWithin(bound, keptBps(10_000), microUsd(105))).toBeUndefined()
  })

  it('is never above the requested limit, also at a price of zero', () => {
    const free = buildTarget(buildModel({ id: 'sandbox/echo' }))
    const bare = { ...free, price: { version: 'test', unitPrices: {} } }
    const bounds = { ...buildDemand().bounds, inputTokens: 100, maxOutputTokens: 50 }
    expect(limitWithin(boundOf(bare, buildDemand({ bounds })), keptBps(10_000), microUsd(0))).toBe(50)
  })
})
