import { describe, expect, it } from 'vitest'
import { ELIGIBLE, FILTERS, stageOf } from '#data-plane/pipeline/plan/offer-filters.ts'
import { ownOffersOf } from '#data-plane/pipeline/plan/own-providers.ts'
import { readChoice } from '#data-plane/pipeline/plan/routing-choice.ts'
import { selectOffers } from '#data-plane/pipeline/plan/select-offers.ts'
import { buildMarket } from '#data-plane/store/market.ts'
import { createSpentCaps } from '#data-plane/store/spent-caps.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { ENDPOINTS } from '#shared/catalog/model.ts'
import { runsEndpoint, runsModel } from '#shared/catalog/providers.ts'
import { toAppError } from '#shared/errors.ts'
import {
  buildDemand,
  buildMarketOffer,
  buildModel,
  buildPayer,
  buildProvider,
  buildTarget,
  buildTestMarket,
  NO_RATES,
} from '#test/support/bytes/build-market.ts'

const model = buildModel({ endpoints: [...ENDPOINTS] })
const health = { isAllWell: () => true, blockedUntil: () => 0 }

/** Routes a call to an offer and to an own key at a host that runs these endpoints. */
function route(endpoints: Endpoint[] | null, endpoint: Endpoint) {
  // Only the queue's protocol has music.
  const offer = buildMarketOffer(endpoint === 'music' ? { apiFormat: 'falqueue' } : {})
  const own = { ...offer, model: null, providerModel: null, priority: 0, label: null, id: 'own_1' }
  const base = buildTestMarket([offer], model)
  const market = buildMarket({ ...base, providers: [{ ...buildProvider('a'), endpoints }, buildProvider('b')] }, base)
  const payer = buildPayer({ ownProviders: [own] })
  const choice = readChoice(market, buildDemand({ endpoint }), payer)
  const target = { ...buildTarget(model), endpoint }
  const ports = { market, health, caps: createSpentCaps(), rates: NO_RATES, now: 0 }
  let outcome: string
  try {
    outcome = selectOffers(ports, target, choice).candidates[0]?.provider ?? 'none'
  } catch (thrown) {
    outcome = toAppError(thrown).code
  }
  return [
    FILTERS[stageOf(ports, choice, offer)] ?? ELIGIBLE,
    outcome,
    ownOffersOf(payer, target, choice, undefined).last.length,
  ]
}

describe('the endpoints that a host runs', () => {
  it.each(ENDPOINTS)('%s is routed to hosts that run it, and to no other', (endpoint) => {
    const served = [ELIGIBLE, 'a', 1]
    expect(route(null, endpoint)).toEqual(served)
    expect(route([endpoint], endpoint)).toEqual(served)
    expect(route([...ENDPOINTS], endpoint)).toEqual(served)
    const others = ENDPOINTS.filter((other) => other !== endpoint)
    expect(route(others, endpoint)).toEqual(['endpoint', 'no_sellers_for_model', 0])
    for (const other of others) expect(route([other], endpoint)).toEqual(['endpoint', 'no_sellers_for_model', 0])
  })

  it.each(ENDPOINTS)('and %s is routed to no offer without that endpoint', (endpoint) => {
    const offer = buildMarketOffer(endpoint === 'music' ? { apiFormat: 'falqueue' } : {})
    const other = { ...offer, id: `${offer.id}x` as const, without: [endpoint] }
    const routed = (offers: readonly (typeof offer)[], asked: Endpoint) => {
      const market = buildTestMarket([...offers], model)
      const choice = readChoice(market, buildDemand({ endpoint: asked }), buildPayer())
      const ports = { market, health, caps: createSpentCaps(), rates: NO_RATES, now: 0 }
      expect(FILTERS[stageOf(ports, choice, other)]).toBe(asked === endpoint ? 'endpoint' : undefined)
      return selectOffers(ports, { ...buildTarget(model), endpoint: asked }, choice).candidates.map(({ id }) => id)
    }
    expect(routed([offer, other], endpoint)).toEqual([offer.id])
    expect(() => routed([other], endpoint)).toThrow()
  })

  it('serve a model where they include one of its endpoints', () => {
    for (const endpoint of ENDPOINTS) {
      expect(ENDPOINTS.filter((other) => runsEndpoint({ endpoints: [endpoint] }, other))).toEqual([endpoint])
      expect(runsModel({ endpoints: [endpoint] }, model)).toBe(true)
      expect(runsModel({ endpoints: ENDPOINTS.filter((other) => other !== endpoint) }, { endpoints: [endpoint] })).toBe(
        false,
      )
      expect(runsModel({ endpoints: null }, { endpoints: [endpoint] })).toBe(true)
    }
  })
})
