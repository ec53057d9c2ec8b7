import { z } from 'zod'
import { countLentTraits, listLentIds, sumLentOffers } from '#control-plane/db/lent-market.ts'
import { findResource, listResources } from '#control-plane/db/resources.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readRecord } from '#control-plane/services/catalog/resources.ts'
import { aged } from '#control-plane/services/market/market-parts.ts'
import { Count, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import type { Resource } from '#shared/catalog/resources.ts'
import { RESOURCE_METHODS, TRAIT_PROVENANCES } from '#shared/catalog/resources.ts'
import { lastUtcDays, SECOND } from '#shared/clock.ts'
import { LENT_RULES } from '#shared/contract/lent-offers.ts'
import { SoldRowSchema } from '#shared/contract/snapshot.ts'
import { soldName } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import { subtractToZero, ZERO } from '#shared/money.ts'
import { ResourceName } from './input.ts'
import { readSold } from './lent-documents.ts'

/** Days of figures, with today. */
const FIGURE_DAYS = 7
/** Time for which the sums of sales are reused. */
const SOLD_MS = 10 * SECOND
/** Most lent keys whose refused demand is read: those with the best discount. */
const MAX_DEMAND_OFFERS = 100

const Percent = z.number().nullable()

/** A resource with its keys on offer now and its sales. Discounts count offers that are not backed off. */
export const ResourceMarketSchema = z.object({
  id: z.string(),
  kind: z.enum(['resource', 'family']),
  name: z.string(),
  /** The unit of sale, for a reader: `per image`. */
  unit: z.string(),
  /** `header`: the target is a URL in `x-target-url`. `path`: it follows the resource in the path. */
  style: z.enum(['header', 'path']),
  termsUrl: z.string().nullable(),
  offers: Count,
  liveOffers: Count,
  bestDiscountPct: Percent,
  medianDiscountPct: Percent,
  calls24h: Count,
  volume24hMicro: WholeMicro,
  saved24hMicro: WholeMicro,
  calls7d: Count,
  volume7dMicro: WholeMicro,
  saved7dMicro: WholeMicro,
})
export type ResourceMarketView = z.infer<typeof ResourceMarketSchema>

const Methods = z.array(z.enum(RESOURCE_METHODS)).readonly()

export const ResourceHostSchema = z.object({ role: z.string(), baseUrl: z.string() })
export const UnitPriceSchema = z.object({ unit: z.string(), usd: z.string() })
export const ResourceGoodSchema = z.object({
  id: z.string(),
  mustQueue: z.boolean(),
  prices: z.array(UnitPriceSchema).readonly(),
})
export const ResourceRouteSchema = z.object({
  id: z.string(),
  title: z.string(),
  kind: z.string(),
  methods: Methods,
  host: z.string(),
  path: z.string(),
  /** The methods of JSON-RPC that can be called; null for a route that is not JSON-RPC. */
  rpcMethods: z.array(z.string()).readonly().nullable(),
})
export const ResourceFenceSchema = z.object({ methods: Methods.nullable(), path: z.string(), reason: z.string() })
export const ResourceTraitSchema = z.object({
  name: z.string(),
  title: z.string(),
  /** The evidence: the seller's word, or the answer of a probe. */
  provenance: z.enum(TRAIT_PROVENANCES),
  liveOffers: Count,
})
export const RefusedDemandSchema = z.object({ rule: z.enum(LENT_RULES), calls: Count, quotedMicro: WholeMicro })

/** A resource with everything on sale, and the calls that its sellers' rules refused. */
export const ResourceDetailSchema = z.object({
  market: ResourceMarketSchema,
  hosts: z.array(ResourceHostSchema).readonly(),
  goods: z.array(ResourceGoodSchema).readonly(),
  routes: z.array(ResourceRouteSchema).readonly(),
  fences: z.array(ResourceFenceSchema).readonly(),
  traits: z.array(ResourceTraitSchema).readonly(),
  /** The start of the days of refused demand. */
  since: UnixMs,
  refusedDemand: z.array(RefusedDemandSchema).readonly(),
})
export type ResourceDetail = z.infer<typeof ResourceDetailSchema>

/** Lists the resources with lent keys. Public. */
export const listResourceMarkets = defineOperation({
  name: 'resource.markets',
  summary: 'List the resources whose keys are lent',
  access: 'public',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(ResourceMarketSchema).readonly(),
  run: async (ctx): Promise<readonly ResourceMarketView[]> => {
    const [storedResources, resting] = await Promise.all([listResources(ctx.db), restingOffers(ctx)])
    return viewMarkets(ctx, storedResources.map(readRecord), resting)
  },
})

/** Reads everything on sale of one resource. Public. Throws `not_found`. */
export const getResourceMarket = defineOperation({
  name: 'resource.market',
  summary: 'Get the goods of a resource',
  access: 'public',
  input: z.strictObject({ id: ResourceName }),
  limit: 'read',
  idempotency: 'none',
  output: ResourceDetailSchema,
  run: async (ctx, _actor, { id }): Promise<ResourceDetail> => {
    const [record, resting] = await Promise.all([requireOpenResource(ctx, id), restingOffers(ctx)])
    const [[market], traits, demand] = await Promise.all([
      viewMarkets(ctx, [record], resting),
      countLentTraits(ctx.db, id, resting),
      readRefusedDemand(ctx, id),
    ])
    if (market === undefined) throw new AppError('not_found')
    return { market, ...viewCapabilities(record, traits), ...demand }
  },
})

/** The record of a resource that can be bought. Throws `not_found`. */
export async function requireOpenResource(ctx: Pick<Ctx, 'db'>, id: string): Promise<Resource> {
  const resource = await findResource(ctx.db, id)
  const record = resource && readRecord(resource)
  if (record?.isOn !== true) throw new AppError('not_found', { message: 'No resource has this name.' })
  return record
}

/** The offers that are backed off now. */
async function restingOffers({ liveOffers, clock }: Pick<Ctx, 'liveOffers' | 'clock'>): Promise<readonly string[]> {
  const now = clock.now()
  const health = await liveOffers.health()
  return [...health].flatMap(([id, { backedOffUntil }]) => ((backedOffUntil ?? 0) > now ? [id] : []))
}

type MarketCtx = Pick<Ctx, 'db' | 'clock' | 'marketMemory'>

async function viewMarkets(
  ctx: MarketCtx,
  records: readonly Resource[],
  resting: readonly string[],
): Promise<ResourceMarketView[]> {
  const [sums, sold] = await Promise.all([sumLentOffers(ctx.db, resting), recallSold(ctx)])
  const open = records.filter(({ isOn }) => isOn)
  return open.map(({ id, kind, name, unit, style, termsUrl }) => {
    const lent = sums.find(({ resource }) => resource === id)
    const row = sold.find((each) => each.name === soldName({ kind, id }))
    return {
      id,
      kind,
      name,
      unit,
      style,
      termsUrl,
      offers: Number(lent?.offers ?? 0),
      liveOffers: Number(lent?.live ?? 0),
      bestDiscountPct: percentOf(lent?.bestKept ?? null),
      medianDiscountPct: percentOf(lent?.medianKept ?? null),
      calls24h: row?.calls24h ?? 0,
      volume24hMicro: Number(row?.volume24hMicro ?? 0),
      saved24hMicro: savedOf(row?.list24hMicro, row?.volume24hMicro),
      calls7d: row?.calls7d ?? 0,
      volume7dMicro: Number(row?.volume7dMicro ?? 0),
      saved7dMicro: savedOf(row?.list7dMicro, row?.volume7dMicro),
    }
  })
}

function recallSold({ db, clock, marketMemory }: MarketCtx) {
  const now = clock.now()
  return aged(marketMemory.sold, { key: 'sold', now, maxAgeMs: SOLD_MS }, async () =>
    SoldRowSchema.array().parse(await readSold(db, now)),
  )
}

function percentOf(keptBps: number | null): number | null {
  return keptBps === null ? null : (10_000 - keptBps) / 100
}

function savedOf(list = ZERO, charge = ZERO): number {
  return Number(subtractToZero(list, charge))
}

function viewCapabilities(record: Resource, traits: ReadonlyMap<string, number>) {
  return {
    hosts: record.hosts.map(({ role, baseUrl }) => ({ role, baseUrl })),
    goods: record.goods.map(({ id, mustQueue, prices }) => ({
      id,
      mustQueue,
      prices: Object.entries(prices).map(([unit, usd]) => ({ unit, usd })),
    })),
    routes: record.routes.map(({ id, title, kind, methods, host, path, rpc }) => ({
      id,
      title,
      kind,
      methods,
      host,
      path,
      rpcMethods: rpc === undefined ? null : Object.keys(rpc.methods),
    })),
    fences: record.fences.map(({ methods, path, reason }) => ({ methods: methods ?? null, path, reason })),
    traits: record.traits.map(({ name, title, shownBy }) => ({
      name,
      title,
      liveOffers: traits.get(name) ?? 0,
      provenance: shownBy === undefined ? ('declared' as const) : ('probed' as const),
    })),
  }
}

/**
 * Calls that sellers' own rules refused, summed over the {@link MAX_DEMAND_OFFERS} offers on sale with the best
 * discount. Where there are several offers, the sum reveals no single one.
 */
async function readRefusedDemand(ctx: Pick<Ctx, 'db' | 'clock' | 'liveOffers'>, resource: string) {
  const { since, days } = lastUtcDays(ctx.clock.now(), FIGURE_DAYS)
  const offers = await listLentIds(ctx.db, resource, MAX_DEMAND_OFFERS)
  const refusedDemands = await ctx.liveOffers.refusals(offers, days)
  const refusedDemand = LENT_RULES.flatMap((rule) => {
    const lines = refusedDemands.filter((line) => line.rule === rule)
    const calls = lines.reduce((sum, line) => sum + line.calls, 0n)
    const quoted = lines.reduce((sum, { quotedMicro }) => sum + quotedMicro, 0n)
    return calls === 0n ? [] : [{ rule, calls: Number(calls), quotedMicro: Number(quoted) }]
  })
  return { since, refusedDemand }
}
