import { invoke } from '#control-plane/operation/invoke.ts'
import type { ResourceBookLine } from '#control-plane/services/lending/resource-book.ts'
import { ResourceBookLineSchema, readResourceBook } from '#control-plane/services/lending/resource-book.ts'
import type { ResourceDetail, ResourceMarketView } from '#control-plane/services/lending/resource-market.ts'
import {
  getResourceMarket,
  listResourceMarkets,
  RefusedDemandSchema,
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
import { given } from './given.ts'
import { KeyTrait } from './lent-offers.ts'
import { membersOf } from './members.ts'
import { costOfPage, readPage, toEdges } from './page.ts'

const Method = builder.enumType('ResourceMethod', { values: RESOURCE_METHODS })

const ResourceMarket = builder.objectRef<ResourceMarketView>('ResourceMarket').implement({
  description:
    'A resource whose keys are lent, and what was sold of it. Discounts count offers that do not rest; amounts are micro-USD.',
  fields: (t) => membersOf(t, ResourceMarketSchema, { ints: ['offers', 'liveOffers'] }),
})

/** A record is one read, whatever its lists hold. */
const RECORD_COST = { field: 1, multiplier: 20 }

type Host = ResourceDetail['hosts'][number]
const ResourceHost = builder.objectRef<Host>('ResourceHost').implement({
  fields: (t) => membersOf(t, ResourceHostSchema),
})

type Price = ResourceDetail['goods'][number]['prices'][number]
const GoodPrice = builder.objectRef<Price>('ResourcePrice').implement({
  description: 'What the provider takes for one unit, in US dollars as a decimal.',
  fields: (t) => membersOf(t, UnitPriceSchema),
})

type Good = ResourceDetail['goods'][number]
const ResourceGood = builder.objectRef<Good>('ResourceGood').implement({
  description: 'Something that is sold through a resource. `mustQueue`: by the queue alone.',
  fields: (t) => ({
    ...membersOf(t, ResourceGoodSchema),
    prices: t.field({ type: [GoodPrice], complexity: { field: 0 }, resolve: ({ prices }) => prices }),
  }),
})

type Route = ResourceDetail['routes'][number]
const ResourceRoute = builder.objectRef<Route>('ResourceRoute').implement({
  description: 'Calls that can be made.',
  fields: (t) => membersOf(t, ResourceRouteSchema),
})

type Fence = ResourceDetail['fences'][number]
const ResourceFence = builder.objectRef<Fence>('ResourceFence').implement({
  description: 'Calls that are never made, and why. Null methods are all.',
  fields: (t) => membersOf(t, ResourceFenceSchema),
})

type Trait = ResourceDetail['traits'][number]
const ResourceTrait = builder.objectRef<Trait>('ResourceTrait').implement({
  description: 'What a call may require of an account, and whether sellers say so or a probe shows it.',
  fields: (t) => membersOf(t, ResourceTraitSchema, { ints: ['liveOffers'] }),
})

type Refused = ResourceDetail['refusedDemand'][number]
const RefusedDemand = builder.objectRef<Refused>('RefusedResourceDemand').implement({
  description: 'Calls that a rule of their sellers kept from the offers on sale, with their quotes in micro-USD.',
  fields: (t) => membersOf(t, RefusedDemandSchema),
})

const Detail = builder.objectRef<ResourceDetail>('ResourceDetail').implement({
  description: 'A resource with all that can be called and bought, and the demand that its sellers refused.',
  fields: (t) => ({
    market: t.expose('market', { type: ResourceMarket }),
    hosts: t.field({ type: [ResourceHost], complexity: { field: 1 }, resolve: ({ hosts }) => hosts }),
    goods: t.field({ type: [ResourceGood], complexity: RECORD_COST, resolve: ({ goods }) => goods }),
    routes: t.field({ type: [ResourceRoute], complexity: RECORD_COST, resolve: ({ routes }) => routes }),
    fences: t.field({ type: [ResourceFence], complexity: RECORD_COST, resolve: ({ fences }) => fences }),
    traits: t.field({ type: [ResourceTrait], complexity: RECORD_COST, resolve: ({ traits }) => traits }),
    since: t.exposeFloat('since'),
    refusedDemand: t.field({ type: [RefusedDemand], complexity: { field: 5 }, resolve: (all) => all.refusedDemand }),
  }),
})

const BookLine = builder.objectRef<ResourceBookLine>('ResourceBookLine').implement({
  description:
    'A lent key in the public book, and whether it can serve the call that was asked about. Nothing tells who lends it.',
  fields: (t) => ({
    ...membersOf(t, ResourceBookLineSchema, { ints: ['rank'] }),
    traits: t.field({ type: [KeyTrait], complexity: { field: 0 }, resolve: ({ traits }) => traits }),
  }),
})

builder.queryFields((t) => ({
  resourceMarkets: t.field({
    type: [ResourceMarket],
    description: 'The resources whose keys are lent.',
    complexity: RECORD_COST,
    resolve: (_root, _args, { ctx, actor, options }) => invoke(ctx, actor, listResourceMarkets, {}, options),
  }),
  resourceMarket: t.field({
    type: Detail,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, args, { ctx, actor, options }) => invoke(ctx, actor, getResourceMarket, args, options),
  }),
  resourceBook: t.connection({
    type: BookLine,
    description: 'The lent keys of a resource, best discount first, and which of them can serve the call described.',
    args: {
      id: t.arg.id({ required: true }),
      model: t.arg.string(),
      method: t.arg({ type: Method }),
      path: t.arg.string(),
      require: t.arg.stringList(),
      minDiscountPct: t.arg.int(),
    },
    complexity: costOfPage,
    resolve: async (_root, { first, after, last, before, ...call }, { ctx, actor, options }) => {
      const page = { first, after, last, before }
      const input = { ...given(call), ...readPage(page) }
      return toEdges(await invoke(ctx, actor, readResourceBook, input, options), page, (line) => line)
    },
  }),
}))
