import type { SellerActor } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import type { TestMarket } from './control-plane.ts'

let keys = 0

/** A provider key that the sample provider accepts and no other offer has. */
export const newProviderKey = (): string => `sk-good-canary-${++keys}-abcdefgh`

/** A seller's request to sell the market's sample provider with a key of its own. */
export const offerInput = (market: TestMarket, changes: object = {}) => ({
  model: 'gpt-test',
  apiKey: newProviderKey(),
  sellerBaseUrl: market.provider.url,
  discount: 40,
  ...changes,
})

/** Puts an offer on sale. */
export const listOffer = (market: TestMarket, seller: SellerActor, changes: object = {}) =>
  invoke(market.plane, seller, createOffer, offerInput(market, changes), { idempotencyKey: market.plane.ids.ulid() })
