import { listPricesAt } from '#control-plane/db/catalog.ts'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { listDocumentVersions } from '#control-plane/db/market-book.ts'
import { listTrades } from '#control-plane/db/market-figures.ts'
import type { Ctx } from '#control-plane/operation.ts'
import { buildDocument } from '#control-plane/services/snapshot-documents.ts'
import { SECOND } from '#shared/clock.ts'
import type { MarketRow, OfferRow } from '#shared/contract/snapshot.ts'
import { OffersDocumentSchema, offersDocumentName } from '#shared/contract/snapshot.ts'
import type { OfferTrades } from '#shared/contract/trades.ts'
import { parseTrades } from '#shared/contract/trades.ts'
import type { LiveState } from '#shared/market-view.ts'
import { microUsd } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { dayBefore, readMarketRows } from './market-rows.ts'

/** Offers that one process remembers over all models; the models asked for longest ago are forgotten first. */
const MAX_REMEMBERED = 200_000
/** How long health, caps and trades of a model are taken to be what they were. */
const LIVE_MS = SECOND
const TRADES_MS = 10 * SECOND
/** Rows are rolled up once a minute: this much later nobody notices. */
const FIGURES_MS = 5 * SECOND
/** How many caps are asked after for a model, best offers first. */
const MAX_CAPS = 1_000

type Sources = Pick<Ctx, 'db' | 'clock' | 'settings' | 'offerState'>
type Shelf = { readonly version: number; readonly offers: readonly OfferRow[] }
type Aged<Value> = { readonly at: number; readonly value: Promise<Value> }
type Memory = {
  readonly offers: Map<string, Shelf>
  readonly live: Map<string, Aged<LiveState>>
  readonly trades: Map<string, Aged<ReadonlyMap<string, OfferTrades>>>
  readonly figures: Map<string, { readonly at: number; readonly row: MarketRow }>
  count: number
}
const memories = new WeakMap<Database, Memory>()

function memoryOf({ db }: Sources): Memory {
  const known = memories.get(db)
  if (known !== undefined) return known
  const memory: Memory = { offers: new Map(), live: new Map(), trades: new Map(), figures: new Map(), count: 0 }
  memories.set(db, memory)
  return memory
}

/** The active offers of models in the order of the routing; read again only where their document has changed. */
export async function readOffers(
  ctx: Sources,
  models: readonly string[],
): Promise<ReadonlyMap<string, readonly OfferRow[]>> {
  const memory = memoryOf(ctx)
  const versions = await listDocumentVersions(ctx.db, models.map(offersDocumentName))
  const found = new Map<string, readonly OfferRow[]>()
  for (const model of models) {
    const version = versions.get(offersDocumentName(model))
    const known = memory.offers.get(model)
    const isCurrent = known !== undefined && known.version === version
    const offers = isCurrent ? known.offers : await loadOffers(ctx, model)
    if (version !== undefined) remember(memory, model, { version, offers })
    found.set(model, offers)
  }
  return found
}

async function loadOffers(ctx: Sources, model: string): Promise<readonly OfferRow[]> {
  const document = await transact(ctx.db, (trx) => buildDocument(ctx, trx, offersDocumentName(model)))
  return OffersDocumentSchema.parse(document).offers.sort(byRank)
}

/** The order of the routing: what is kept of the price, then measured speed, then the id. */
export function byRank(left: RankedOffer, right: RankedOffer): number {
  return (
    Number(left.keptBps - right.keptBps) ||
    (left.ttftMs ?? Number.MAX_SAFE_INTEGER) - (right.ttftMs ?? Number.MAX_SAFE_INTEGER) ||
    (left.id < right.id ? -1 : left.id > right.id ? 1 : 0)
  )
}
export type RankedOffer = Pick<OfferRow, 'keptBps' | 'ttftMs' | 'id'>

function remember(memory: Memory, model: string, shelf: Shelf): void {
  memory.count += shelf.offers.length - (memory.offers.get(model)?.offers.length ?? 0)
  memory.offers.delete(model)
  memory.offers.set(model, shelf)
  for (const [oldest, { offers }] of memory.offers) {
    if (memory.count <= MAX_REMEMBERED || oldest === model) break
    memory.count -= offers.length
    memory.offers.delete(oldest)
    memory.live.delete(oldest)
    memory.trades.delete(oldest)
  }
}

/** What is true of a model's offers now, at most a second ago; callers at the same time share one answer. */
export function readLive(ctx: Sources, model: string, offers: readonly OfferRow[]): Promise<LiveState> {
  return aged(memoryOf(ctx).live, { key: model, now: ctx.clock.now(), maxAgeMs: LIVE_MS }, () => liveOf(ctx, offers))
}

/** Forgets what was known live of a model: something has changed. */
export function forgetLive(ctx: Sources, model: string): void {
  memoryOf(ctx).live.delete(model)
}

/** What the offers of a model sold over the last day. */
export function readTrades(ctx: Sources, model: string): Promise<ReadonlyMap<string, OfferTrades>> {
  const now = ctx.clock.now()
  return aged(memoryOf(ctx).trades, { key: model, now, maxAgeMs: TRADES_MS }, async () => {
    const texts = await listTrades(ctx.db, dayBefore(now), [model])
    return parseTrades(texts.get(model) ?? '')
  })
}

/** The figures of models, at most some seconds old: those that are older are read again together. */
export async function readFigures(ctx: Sources, models: readonly string[]): Promise<ReadonlyMap<string, MarketRow>> {
  const { figures } = memoryOf(ctx)
  const now = ctx.clock.now()
  const isFresh = (at: number | undefined) => at !== undefined && now >= at && now - at < FIGURES_MS
  const stale = models.filter((model) => !isFresh(figures.get(model)?.at))
  for (const row of await readMarketRows(ctx.db, stale)) figures.set(row.model, { at: now, row })
  return new Map(
    models.flatMap((model) => {
      const found = figures.get(model)
      return found === undefined ? [] : [[model, found.row] as const]
    }),
  )
}

type Age = { readonly key: string; readonly now: number; readonly maxAgeMs: number }

function aged<Value>(kept: Map<string, Aged<Value>>, age: Age, read: () => Promise<Value>): Promise<Value> {
  const { key, now, maxAgeMs } = age
  const known = kept.get(key)
  if (known !== undefined && now - known.at < maxAgeMs && now >= known.at) return known.value
  const value = read()
  kept.set(key, { at: now, value })
  // A failure is for those who wait for it: the next caller tries anew.
  value.catch(() => kept.delete(key))
  return value
}

async function liveOf(ctx: Sources, offers: readonly OfferRow[]): Promise<LiveState> {
  const now = ctx.clock.now()
  const capped = offers.filter((offer) => offer.capDailyMicro !== null).slice(0, MAX_CAPS)
  const [health, taken] = await Promise.all([
    ctx.offerState.health(offers.map(({ id }) => id)),
    ctx.offerState.capTaken(capped.map(({ id }) => id)),
  ])
  return {
    isHealthy: ({ id }) => (health.get(id)?.backedOffUntil ?? 0) <= now,
    usedToday: ({ id }) => {
      const used = taken.get(id)
      return used === undefined ? undefined : microUsd(used)
    },
  }
}

/** Reference prices that count now, by model. */
export async function readUnitPrices(
  ctx: Sources,
  models: readonly string[],
): Promise<ReadonlyMap<string, UnitPrices>> {
  const prices = await listPricesAt(ctx.db, ctx.clock.now(), models)
  return new Map(prices.map((price) => [price.model, UnitPricesSchema.parse(price.unitPrices)]))
}
