import { ResourceBookLineSchema, readResourceBook } from '#control-plane/services/lending/resource-book.ts'
import {
  getResourceMarket,
  listResourceMarkets,
  RefusedDemandSchema,
  ResourceDetailSchema,
  ResourceFenceSchema,
  ResourceGoodSchema,
  ResourceHostSchema,
  ResourceMarketSchema,
  ResourceRouteSchema,
  ResourceTraitSchema,
  UnitPriceSchema,
} from '#control-plane/services/lending/resource-market.ts'
import { RESOURCE_METHODS } from '#shared/catalog/resources.ts'
import { builder } from './builder.ts'
import { KeyTrait } from './lent-offers.ts'
import { objectOf } from './objects.ts'
import { fieldOf, pageOf } from './operation-fields.ts'

const Method = builder.enumType('ResourceMethod', { values: RESOURCE_METHODS })

const ResourceMarket = objectOf('ResourceMarket', ResourceMarketSchema, {
  description:
    'A resource whose keys are lent, and its sales. Discounts count offers that are not backed off; amounts are micro-USD.',
  ints: ['offers', 'liveOffers'],
})

/** A record costs one read, whatever its lists hold. */
const RECORD_COST = { field: 1, multiplier: 20 }

const GoodPrice = objectOf('ResourcePrice', UnitPriceSchema, {
  description: 'The provider’s price of one unit, in US dollars as a decimal.',
})

const ResourceGood = objectOf('ResourceGood', ResourceGoodSchema, {
  description: 'A good of a resource. `mustQueue` means that only the queue sells it.',
  types: { prices: GoodPrice },
  costs: { prices: { field: 0 } },
})

const ResourceRoute = objectOf('ResourceRoute', ResourceRouteSchema, {
  description: 'A route with the calls that buyers can make.',
})

const ResourceFence = objectOf('ResourceFence', ResourceFenceSchema, {
  description: 'Calls that are never forwarded, and the reason. Null in `methods` means all methods.',
})

const ResourceTrait = objectOf('ResourceTrait', ResourceTraitSchema, {
  description: 'A trait that a call may require of an account, and its evidence: the word of the seller, or a probe.',
  ints: ['liveOffers'],
})

const RefusedDemand = objectOf('RefusedResourceDemand', RefusedDemandSchema, {
  description: 'Calls that a rule of the sellers refused on offers on sale, with their quotes in micro-USD.',
})

const Detail = objectOf('ResourceDetail', ResourceDetailSchema, {
  description: 'A resource with all its calls and goods, and the demand that its sellers refused.',
  types: {
    market: ResourceMarket,
    hosts: objectOf('ResourceHost', ResourceHostSchema),
    goods: ResourceGood,
    routes: ResourceRoute,
    fences: ResourceFence,
    traits: ResourceTrait,
    refusedDemand: RefusedDemand,
  },
  costs: {
    hosts: { field: 1 },
    goods: RECORD_COST,
    routes: RECORD_COST,
    fences: RECORD_COST,
    traits: RECORD_COST,
    refusedDemand: { field: 5 },
  },
})

const BookLine = objectOf('ResourceBookLine', ResourceBookLineSchema, {
  description:
    'A lent key in the public book, and whether it can serve the described call. No field identifies the lender.',
  ints: ['rank'],
  types: { traits: KeyTrait },
  costs: { traits: { field: 0 } },
})

builder.queryFields((t) => ({
  resourceMarkets: t.field({
    type: [ResourceMarket],
    complexity: RECORD_COST,
    ...fieldOf(listResourceMarkets),
  }),
  resourceMarket: t.field({ type: Detail, ...fieldOf(getResourceMarket) }),
  resourceBook: t.connection({
    type: BookLine,
    ...pageOf(readResourceBook, { ints: ['minDiscountPct'], types: { method: Method } }),
  }),
}))
