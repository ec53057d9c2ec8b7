import { describe, expect, it } from 'vitest'
import type { ModelDemand } from '#data-plane/call.ts'
import { conversationOf, preferWarm } from '#data-plane/pipeline/plan/prefer-warm.ts'
import { readChoice } from '#data-plane/pipeline/plan/routing-choice.ts'
import { selectOffers } from '#data-plane/pipeline/plan/select-offers.ts'
import { createSpentCaps } from '#data-plane/store/spent-caps.ts'
import type { WarmOffers } from '#data-plane/store/warm-offers.ts'
import { createWarmOffers } from '#data-plane/store/warm-offers.ts'
import type { AccountId, OfferId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { keptBps, picoUsd } from '#shared/money.ts'
import {
  buildDemand,
  buildOffer,
  buildPayer,
  buildRaw,
  buildTarget,
  buildTestMarket,
  NO_RATES,
  providersOf,
} from '#test/support/bytes/build-market.ts'

const NOW = 1_763_000_000_000
const TALK = 'acc_1 s talk'
const cheap = buildOffer({ provider: 'cheap', keptBps: keptBps(4_000) })
const warmOne = buildOffer({ provider: 'warm', keptBps: keptBps(8_000) })
const BOUNDS = { ...buildDemand().bounds, inputBytes: 40_000 }

function offerId(id: string): OfferId {
  if (!isId('ofr', id)) throw new Error('no offer')
  return id
}

/** Turns of a conversation at the expensive offer, with the cached tokens of each. */
function warmed(cachedTokens: readonly number[]): WarmOffers {
  const warm = createWarmOffers()
  for (const [turn, cached] of cachedTokens.entries()) {
    const facts = { offer: offerId(warmOne.id), inputTokens: 10_000, outputTokens: 20, cachedTokens: cached }
    warm.note(`${TALK} gpt-5-mini`, { ...facts, at: NOW - 60_000 + turn })
  }
  return warm
}

type Setting = { demand?: Partial<ModelDemand>; conversation?: string | undefined; down?: boolean; now?: number }

function rank(warm: WarmOffers, setting: Setting = {}, isCachePriced = true) {
  const { demand: given, conversation = TALK, down = false, now = NOW } = setting
  const market = buildTestMarket([cheap, warmOne])
  const health = {
    isAllWell: () => !down,
    blockedUntil: ({ provider }: { provider: string }) => (down && provider === 'warm' ? NOW + 1_000 : 0),
  }
  const demand = buildDemand({ bounds: BOUNDS, ...given })
  const ports = { market, health, caps: createSpentCaps(), rates: NO_RATES, now }
  const choice = readChoice(market, demand, buildPayer())
  const target = buildTarget()
  const { cacheRead: _, ...withoutCache } = target.price.unitPrices
  const price = isCachePriced ? target.price : { ...target.price, unitPrices: withoutCache }
  const call = { ports, target: { ...target, price }, demand, choice, conversation }
  return preferWarm(warm, call, selectOffers(ports, target, choice))
}

describe('a conversation in a prompt cache', () => {
  it('stays at its warm offer while that offer is expected to cost least, and reports the saving', () => {
    const { candidates, affinity } = rank(warmed([0, 9_000, 9_000, 9_000]))
    expect(providersOf(candidates)).toEqual(['warm', 'cheap'])
    expect(affinity?.offer).toBe(warmOne.id)
    // Fresh input costs 1 and cached input 0.1 a token for 10,000 tokens. The warm offer has a discount of 20 % and
    // probably four fifths of the prompt in its cache. The cold offer has a discount of 60 % and no cache.
    expect(Number(affinity?.savingMicro)).toBe(10_000 * 0.4 + 80 - (2_000 * 0.8 + 800 * 0.8 + 160))
  })

  it('moves to the lowest price when nothing is saved: after cache misses, without a cache, or at one price', () => {
    expect(providersOf(rank(warmed([0, 0, 0])).candidates)).toEqual(['cheap', 'warm'])
    expect(providersOf(rank(warmed([])).candidates)).toEqual(['cheap', 'warm'])
    const samePrice = rank(warmed([0, 9_000, 9_000]), {}, false)
    expect([providersOf(samePrice.candidates), samePrice.affinity]).toEqual([['cheap', 'warm'], undefined])
  })

  it('is cold after five minutes', () => {
    expect(rank(warmed([0, 9_000, 9_000]), { now: NOW + 300_000 }).affinity).toBeUndefined()
  })

  it('never overrides a filter, an order of the buyer, or another conversation', () => {
    const warm = warmed([0, 9_000, 9_000, 9_000])
    const hints = { only: [], blocked: [], order: [], allowsUntrusted: undefined }
    expect(rank(warm, { down: true }).affinity).toBeUndefined()
    expect(rank(warm, { demand: { hints: { ...hints, blocked: ['warm'] } } }).affinity).toBeUndefined()
    expect(rank(warm, { demand: { floorPercents: [50] } }).affinity).toBeUndefined()
    expect(rank(warm, { demand: { hints: { ...hints, order: ['cheap'] } } }).affinity).toBeUndefined()
    expect(rank(warm, { conversation: 'acc_2 s talk' }).affinity).toBeUndefined()
  })
})

describe('the name of a conversation', () => {
  const long = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'x'.repeat(5_000) }] })
  const nameOf = (
    body: string,
    headers: Record<string, string> = {},
    session?: string,
    account: AccountId = 'acc_1',
  ) => {
    const { hints } = buildDemand()
    const demand = buildDemand({ hints: session === undefined ? hints : { ...hints, session } })
    return conversationOf(buildRaw(body, headers), demand, buildPayer({ account }))
  }

  it("is the buyer's own word, else the beginning of a long body; a short body has none", () => {
    const named = nameOf('{}', {}, 'talk')
    expect(named).toMatch(/^acc_1 s [\w+/=]{28}$/)
    expect(nameOf('{}', { 'x-session-id': 'talk' })).toBe(named)
    expect(nameOf('{}', {}, 'talk', 'acc_2')).not.toBe(named)
    expect(nameOf(long)).toBe(nameOf(`${long.slice(0, -2)},{"role":"assistant","content":"more"}]}`))
    expect(nameOf(long)).not.toBe(nameOf(long.replace('"m"', '"n"')))
    expect(nameOf('{"model":"m"}')).toBeUndefined()
  })

  it('is missing where the buyer switches affinity off', () => {
    expect(nameOf(long, { 'x-mkt-affinity': 'off' }, 'talk')).toBeUndefined()
  })

  it('a cache read has a lower price than fresh input', () => {
    expect(buildTarget().price.unitPrices.cacheRead).toBe(picoUsd(100_000n))
  })
})
