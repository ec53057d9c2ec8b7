import { describe, expect, it } from 'vitest'
import type { RoutedCall } from '#control-plane/db/routed-calls.ts'
import type { PolicyRequirements, ReplayMarket } from '#control-plane/services/routing/replay-calls.ts'
import { replayCalls } from '#control-plane/services/routing/replay-calls.ts'
import { readChoice } from '#data-plane/pipeline/plan/routing-choice.ts'
import { selectOffers } from '#data-plane/pipeline/plan/select-offers.ts'
import { createSpentCaps } from '#data-plane/store/spent-caps.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import { byRank } from '#shared/market-view.ts'
import { keptBps, microUsd } from '#shared/money.ts'
import { createOfferBook } from '#shared/routing/offer-book.ts'
import {
  buildDemand,
  buildModel,
  buildOffer,
  buildPayer,
  buildTarget,
  buildTestMarket,
  NO_RATES,
} from '#test/support/bytes/build-market.ts'

const NOW = Date.UTC(2026, 10, 21, 12)
const MODEL = buildModel().id
const ANY: PolicyRequirements = {
  only: undefined,
  blocked: undefined,
  order: undefined,
  floorPercent: undefined,
  allowsUntrusted: false,
  isFastestFirst: false,
}

const callsOf = (count: number, listMicro = 1_000n): RoutedCall[] =>
  Array.from({ length: count }, () => ({ model: MODEL, endpoint: 'chat', listMicro, paidMicro: 0n, ttftMs: null }))

function replay(offers: readonly OfferRow[], wants: Partial<PolicyRequirements>, calls: readonly RoutedCall[]) {
  const books = new Map([[MODEL, createOfferBook([...offers].sort(byRank))]])
  const market: ReplayMarket = { books, unable: new Map(), isHealthy: (_model, { provider }) => provider !== 'down' }
  return replayCalls(market, { ...ANY, ...wants }, calls)
}

const offers = [
  buildOffer({ provider: 'down', keptBps: keptBps(2_000) }),
  buildOffer({ provider: 'shady', keptBps: keptBps(3_000), isTrusted: false }),
  buildOffer({ provider: 'cheap', keptBps: keptBps(5_000), ttftMs: 900 }),
  buildOffer({ provider: 'fast', keptBps: keptBps(8_000), ttftMs: 100 }),
]

describe('past calls under another policy', () => {
  it.each<[string, Partial<PolicyRequirements>, string | undefined]>([
    ['without a input', {}, 'cheap'],
    ['with untrusted providers', { allowsUntrusted: true }, 'shady'],
    ['without the cheapest', { blocked: new Set(['cheap']) }, 'fast'],
    ['with one provider alone', { only: new Set(['fast']) }, 'fast'],
    ['in an order', { order: new Map([['fast', 0]]) }, 'fast'],
    ['fastest first', { isFastestFirst: true }, 'fast'],
    ['at a floor', { floorPercent: 50 }, 'cheap'],
    ['at a floor that no offer meets', { floorPercent: 51 }, undefined],
  ])('are routed as the data plane would route them: %s', (_name, wants, provider) => {
    const [placed] = replay(offers, wants, callsOf(1))
    expect(placed?.offer.provider).toBe(provider)
    const market = buildTestMarket(offers)
    const health = {
      isAllWell: () => false,
      blockedUntil: ({ provider: at }: { readonly provider: string }) => (at === 'down' ? NOW + 1 : 0),
    }
    const choice = { ...readChoice(market, buildDemand(), buildPayer()), ...ANY, ...wants }
    const ports = { market, health, caps: createSpentCaps(), rates: NO_RATES, now: NOW }
    const route = () => selectOffers(ports, buildTarget(buildModel()), choice).candidates[0]?.provider
    if (provider === undefined) expect(route).toThrow()
    else expect(route()).toBe(provider)
  })

  it('skip an offer that is not sold on their endpoint', () => {
    const without = buildOffer({ provider: 'shy', keptBps: keptBps(1_000), without: ['chat'] })
    expect(replay([without, ...offers], {}, callsOf(1))[0]?.offer.provider).toBe('cheap')
  })

  it('cost the kept share of their list price, rounded up', () => {
    expect(replay(offers, {}, callsOf(1, 1_001n))[0]?.costMicro).toBe(501n)
  })

  it('use daily caps up, and then take the next offer', () => {
    const capped = buildOffer({ provider: 'cheap', keptBps: keptBps(5_000), capDailyMicro: microUsd(1_000n) })
    const other = buildOffer({ provider: 'dear', keptBps: keptBps(9_000) })
    const providers = (rows: readonly OfferRow[], count: number) =>
      replay(rows, {}, callsOf(count)).map((placed) => placed?.offer.provider)
    expect(providers([capped, other], 4)).toEqual(['cheap', 'cheap', 'dear', 'dear'])
    expect(providers([capped], 3)).toEqual(['cheap', 'cheap', undefined])
  })

  it('are split between offers of one price and speed', () => {
    const equal = ['a', 'b'].map((provider) => buildOffer({ provider, keptBps: keptBps(5_000) }))
    const served = replay(equal, {}, callsOf(10)).map((placed) => placed?.offer.provider)
    expect([served.filter((at) => at === 'a').length, served.filter((at) => at === 'b').length]).toEqual([5, 5])
  })
})
