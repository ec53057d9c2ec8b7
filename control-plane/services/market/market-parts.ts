import { listPricesAt } from '#control-plane/db/catalog.ts'
import type { ModelAtProvider } from '#control-plane/db/listed-offers.ts'
import { countActiveOffers, listBookedOffers } from '#control-plane/db/listed-offers.ts'
import { listDocumentVersions } from '#control-plane/db/market-book.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Aged, MarketMemory } from '#control-plane/ports/market-memory/market-memory.ts'
import { SECOND } from '#shared/clock.ts'
import type { HealthRecord } from '#shared/contract/health-event.ts'
import type { MarketRow } from '#shared/contract/snapshot.ts'
import { offersDocumentName } from '#shared/contract/snapshot.ts'
import type { OfferTrades } from '#shared/contract/trades.ts'
import { parseTrades } from '#shared/contract/trades.ts'
import type { BookOffer, LiveState } from '#shared/market-view.ts'
import { byBookRank } from '#shared/market-view.ts'
import { keptBps, microUsd, parseMicroUsd } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { groupBy, readMarketRows, readSpeedClasses, readTradesTexts } from './market-rows.ts'

/** Time for which the health and caps of a model, and its trades, are reused. */
const LIVE_MS = SECOND
const TRADES_MS = 10 * SECOND
/** Time for which figures are reused. Rows are rolled up once a minute, so the delay does not matter. */
const FIGURES_MS = 5 * SECOND
/** Most caps that are read for an order book, and for a row of a list: those of the best offers. */
const CAPS_OF_A_BOOK = 1_000
const CAPS_OF_A_ROW = 8

/** The parts of the context that reads of the market use. */
export type MarketCtx = Pick<Ctx, 'db' | 'clock' | 'settings' | 'liveOffers' | 'marketMemory' | 'sellerAlias'>
type Books = ReadonlyMap<string, readonly BookOffer[]>
/** The active offers of models in the order of the book. A book is read again only when its document has changed. */
export async function readOffers(ctx: MarketCtx, models: readonly string[]): Promise<Books> {
  const { versions, books } = await recall(ctx, models)
  const allBooks = new Map(books)
  const stale = models.filter((model) => !allBooks.has(model))
  for (const [model, offers] of await loadOffers(ctx, stale)) allBooks.set(model, offers)
  for (const [model, offers] of allBooks) {
    const version = versions.get(offersDocumentName(model))
    if (version !== undefined) ctx.marketMemory.remember(model, { version, offers })
  }
  return allBooks
}

/** Returns the remembered books that are still current, and the document versions of all requested models. */
async function recall(ctx: MarketCtx, models: readonly string[]) {
  const versions = await listDocumentVersions(ctx.db, models.map(offersDocumentName))
  const books = new Map<string, readonly BookOffer[]>()
  for (const model of models) {
    const knownOffers = ctx.marketMemory.offers.get(model)
    if (knownOffers !== undefined && knownOffers.version === versions.get(offersDocumentName(model)))
      books.set(model, knownOffers.offers)
  }
  return { versions, books }
}

/**
 * Counts the offers on sale at each of the given places, in their order. Remembered books give most counts, the
 * database the others.
 */
export async function countOnSale(ctx: MarketCtx, places: readonly ModelAtProvider[]): Promise<number[]> {
  if (places.length === 0) return []
  const models = [...new Set(places.map(({ model }) => model))]
  const { books } = await recall(ctx, models)
  const unknown = models.filter((model) => !books.has(model))
  const counted = unknown.length === 0 ? [] : await countActiveOffers(ctx.db, unknown)
  const inDatabase = groupBy(counted, ({ model }) => model)
  return places.map(({ model, provider }) => {
    const book = books.get(model)
    if (book !== undefined) return countsOf(ctx.marketMemory, book).get(provider) ?? 0
    return inDatabase.get(model)?.find((place) => place.provider === provider)?.count ?? 0
  })
}

function countsOf({ ofBook }: MarketMemory, book: readonly BookOffer[]): ReadonlyMap<string, number> {
  const knownCount = ofBook.counts.get(book)
  if (knownCount !== undefined) return knownCount
  const counts = new Map<string, number>()
  for (const { provider } of book) counts.set(provider, (counts.get(provider) ?? 0) + 1)
  ofBook.counts.set(book, counts)
  return counts
}

/** The remembered offers of those models, so that their live state can be read at the same time as the books. */
export function rememberedOffers(ctx: MarketCtx, models: readonly string[]): Books {
  const { offers } = ctx.marketMemory
  const books = new Map<string, readonly BookOffer[]>()
  for (const model of models) {
    const knownOffers = offers.get(model)
    if (knownOffers !== undefined) books.set(model, knownOffers.offers)
  }
  return books
}

async function loadOffers(ctx: MarketCtx, models: readonly string[]): Promise<Books> {
  if (models.length === 0) return new Map()
  const [listed, speeds] = await Promise.all([
    listBookedOffers(ctx.db, models),
    readSpeedClasses(ctx.db, models, ctx.clock.now()),
  ])
  const books = new Map<string, BookOffer[]>(models.map((model) => [model, []]))
  for (const { model, sellerAccount, without, ...offer } of listed) {
    books.get(model)?.push({
      ...offer,
      ...(without.length > 0 && { without }),
      sellerAlias: ctx.sellerAlias(sellerAccount),
      keptBps: keptBps(offer.keptBps),
      capDailyMicro: offer.capDailyMicro === null ? null : parseMicroUsd(offer.capDailyMicro),
      ttftMs: speeds.get(offer.id) ?? null,
    })
  }
  for (const offers of books.values()) offers.sort(byBookRank)
  return books
}

/** The live state of a model's offers, at most a second old. Callers at the same time share one answer. */
export function readLive(ctx: MarketCtx, model: string, offers: readonly BookOffer[]): Promise<LiveState> {
  return aged(ctx.marketMemory.live, { key: model, now: ctx.clock.now(), maxAgeMs: LIVE_MS }, () =>
    readState(ctx, offers),
  )
}

/**
 * The state of offers without any problem. It is always the same object, so that results made from it can be reused.
 */
const UNDISTURBED: LiveState = { isHealthy: () => true, usedToday: () => undefined }

/** The live state for rows of a list: many models at once, with the caps of the best offers of each only. */
export async function readLiveRows(ctx: MarketCtx, books: Books): Promise<ReadonlyMap<string, LiveState>> {
  const { liveRows, ofBook } = ctx.marketMemory
  const now = ctx.clock.now()
  const stale = [...books].filter(([model, offers]) => {
    const knownRow = liveRows.get(model)
    return knownRow === undefined || knownRow.offers !== offers || now < knownRow.at || now - knownRow.at >= LIVE_MS
  })
  const capped = new Map(stale.map(([model, offers]) => [model, firstCapped(offers, CAPS_OF_A_ROW)]))
  const [health, usedMicro] =
    stale.length === 0
      ? [new Map<string, HealthRecord>(), new Map<string, bigint>()]
      : await Promise.all([
          ctx.liveOffers.health(),
          ctx.liveOffers.capTaken([...capped.values()].flat().map(({ id }) => id)),
        ])
  const live = liveOf(health, usedMicro, now)
  const blocked = [...health].filter(([, { backedOffUntil }]) => (backedOffUntil ?? 0) > now).map(([id]) => id)
  const isUsedUp = (offer: BookOffer) => (live.usedToday(offer) ?? -1n) >= (offer.capDailyMicro ?? 0n)
  for (const [model, offers] of stale) {
    const isDisturbed =
      (capped.get(model) ?? []).some(isUsedUp) || (blocked.length > 0 && hasAny(ofBook.ids, offers, blocked))
    liveRows.set(model, { at: now, offers, live: isDisturbed ? live : UNDISTURBED })
  }
  return new Map([...books.keys()].map((model) => [model, liveRows.get(model)?.live ?? live]))
}

/** True when a book contains one of a few offers. */
function hasAny(known: MarketMemory['ofBook']['ids'], offers: readonly BookOffer[], few: readonly string[]): boolean {
  const ids = known.get(offers) ?? new Set(offers.map(({ id }) => id))
  known.set(offers, ids)
  return few.some((id) => ids.has(id))
}

/** Drops the remembered live state of a model after a change. */
export function forgetLive(ctx: Pick<Ctx, 'marketMemory'>, model: string): void {
  ctx.marketMemory.live.delete(model)
  ctx.marketMemory.liveRows.delete(model)
}

/** The sales of a model's offers over the last day. Null while calls of the day are not summed yet. */
export function readTrades(ctx: MarketCtx, model: string): Promise<ReadonlyMap<string, OfferTrades> | null> {
  const now = ctx.clock.now()
  return aged(ctx.marketMemory.trades, { key: model, now, maxAgeMs: TRADES_MS }, async () => {
    const texts = await readTradesTexts(ctx.db, now, [model])
    return texts && parseTrades(texts.get(model) ?? '')
  })
}

/** The figures of models, at most {@link FIGURES_MS} old. Older figures are read again together. */
export async function readFigures(ctx: MarketCtx, models: readonly string[]): Promise<ReadonlyMap<string, MarketRow>> {
  const { figures } = ctx.marketMemory
  const now = ctx.clock.now()
  const isFresh = (at: number | undefined) => at !== undefined && now >= at && now - at < FIGURES_MS
  const stale = models.filter((model) => !isFresh(figures.get(model)?.at))
  const read = stale.length === 0 ? [] : await readMarketRows(ctx.db, stale, now)
  for (const row of read) figures.set(row.model, { at: now, row })
  return new Map(
    models.flatMap((model) => {
      const figureRow = figures.get(model)
      return figureRow === undefined ? [] : [[model, figureRow.row] as const]
    }),
  )
}

type Age = { readonly key: string; readonly now: number; readonly maxAgeMs: number }

/** The remembered value, or a new one from `read` when it is older than `maxAgeMs`. */
export function aged<Value>(memory: Map<string, Aged<Value>>, age: Age, read: () => Promise<Value>): Promise<Value> {
  const { key, now, maxAgeMs } = age
  const known = memory.get(key)
  if (known !== undefined && now - known.at < maxAgeMs && now >= known.at) return known.value
  const value = read()
  memory.set(key, { at: now, value })
  // A failure reaches only the callers that wait for it. The next caller tries again.
  value.catch(() => memory.delete(key))
  return value
}

function firstCapped(offers: readonly BookOffer[], count: number): BookOffer[] {
  const bookOffers: BookOffer[] = []
  for (const offer of offers) {
    if (bookOffers.length >= count) break
    if (offer.capDailyMicro !== null) bookOffers.push(offer)
  }
  return bookOffers
}

async function readState(ctx: MarketCtx, offers: readonly BookOffer[]): Promise<LiveState> {
  const [health, usedMicro] = await Promise.all([
    ctx.liveOffers.health(offers.map(({ id }) => id)),
    ctx.liveOffers.capTaken(firstCapped(offers, CAPS_OF_A_BOOK).map(({ id }) => id)),
  ])
  return liveOf(health, usedMicro, ctx.clock.now())
}

function liveOf(
  health: ReadonlyMap<string, HealthRecord>,
  usedMicro: ReadonlyMap<string, bigint>,
  now: number,
): LiveState {
  return {
    isHealthy: ({ id }) => (health.get(id)?.backedOffUntil ?? 0) <= now,
    usedToday: ({ id }) => {
      const used = usedMicro.get(id)
      return used === undefined ? undefined : microUsd(used)
    },
  }
}

/** The reference prices in effect, by model. */
export async function readUnitPrices(
  ctx: MarketCtx,
  models: readonly string[],
): Promise<ReadonlyMap<string, UnitPrices>> {
  const prices = await listPricesAt(ctx.db, ctx.clock.now(), models)
  return new Map(prices.map((price) => [price.model, UnitPricesSchema.parse(price.unitPrices)]))
}
