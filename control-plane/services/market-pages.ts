import { z } from 'zod'
import type { Model } from '#shared/catalog/model.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import type { MarketRow } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import type { BookEntry, LiveState, MarketParts, MarketSummary } from '#shared/market-view.ts'
import { buildBook, summarizeMarket } from '#shared/market-view.ts'
import { keptBps, microUsd } from '#shared/money.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { findModelByName, listModelBodies, listPricesAt } from '../db/catalog.ts'
import type { MarketOffer } from '../db/market-figures.ts'
import { listMarketOffers, listOfferTrades } from '../db/market-figures.ts'
import type { Ctx } from '../operation.ts'
import { defineOperation } from '../operation.ts'
import { dayBefore, groupBy, readMarketRows, readSpeedClasses } from './market-rows.ts'
import { sellerAlias } from './snapshot-documents.ts'

/** Most models of one page of rows. */
const MAX_ROWS = 50
/** How many caps are asked after for a row, best offers first, and for an order book. */
const CAPS_OF_A_ROW = 8
const CAPS_OF_A_BOOK = 1_000

type PageCtx = Pick<Ctx, 'db' | 'clock' | 'offerState' | 'settings'>

/** A row of the list of markets: what it costs now, and the figures of the last day. */
export type MarketPageRow = { readonly model: Model; readonly summary: MarketSummary; readonly figures: MarketRow }

/** Models on sale with their best prices and figures, by id; sandbox models stand on no market page. */
export const listMarkets = defineOperation({
  name: 'market.list',
  access: 'public',
  input: z.object({
    /** Names of models; all on sale when left out. */
    models: z.array(z.string().min(1).max(128)).min(1).max(MAX_ROWS).optional(),
    /** The canonical id of the last row of the page before. */
    after: z.string().max(128).optional(),
    limit: z.number().int().min(1).max(MAX_ROWS).default(20),
  }),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx, _actor, { models, after = '', limit }): Promise<readonly MarketPageRow[]> => {
    const named = models && (await Promise.all(models.map((name) => findModelByName(ctx.db, name))))
    const onMarket = (await readModels(ctx)).filter((model) => named === undefined || named.includes(model.id))
    const page = onMarket.filter((model) => model.id > after).slice(0, limit)
    const parts = await readParts(ctx, page)
    const live = await liveState(ctx, parts, CAPS_OF_A_ROW)
    return parts.map((part) => ({
      model: part.model,
      summary: summarizeMarket(part, live),
      figures: part.row,
    }))
  },
})

/** The order book of a model by any of its names, best offer first: who sells does not stand in it. */
export const readBook = defineOperation({
  name: 'market.book',
  access: 'public',
  input: z.object({ model: z.string().min(1).max(128) }),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx, _actor, input): Promise<{ readonly model: Model; readonly offers: readonly BookEntry[] }> => {
    const id = await findModelByName(ctx.db, input.model)
    const model = (await readModels(ctx)).find((known) => known.id === id)
    if (model === undefined) throw new AppError('not_found', { message: 'The model does not exist.' })
    const [part] = await readParts(ctx, [model])
    if (part === undefined) return { model, offers: [] }
    return { model, offers: buildBook(part, await liveState(ctx, [part], CAPS_OF_A_BOOK)) }
  },
})

async function readModels({ db }: PageCtx): Promise<Model[]> {
  const bodies = await listModelBodies(db)
  return bodies.map((body) => ModelSchema.parse(body)).filter((model) => !model.isSandbox)
}

type Parts = MarketParts & { readonly row: MarketRow }

/** What the pages of models are made from; a model that nobody sells is left out. */
async function readParts(ctx: PageCtx, models: readonly Model[]): Promise<Parts[]> {
  const { db, clock } = ctx
  const ids = models.map((model) => model.id)
  const [rows, offers, prices, trades] = await Promise.all([
    readMarketRows(db, ids),
    listMarketOffers(db, ids),
    listPricesAt(db, clock.now(), ids),
    listOfferTrades(db, dayBefore(clock.now()), ids),
  ])
  const byModel = groupBy(offers, (offer) => offer.model)
  const sold = new Map(
    trades.map((row) => [row.offer, { count: row.trades, volumeMicro: microUsd(row.volumeMicro) }] as const),
  )
  const parts: Parts[] = []
  for (const [at, model] of models.entries()) {
    const price = prices.find((known) => known.model === model.id)
    const [own, row] = [byModel.get(model.id), rows[at]]
    if (own === undefined || price === undefined || row === undefined) continue
    const unitPrices = UnitPricesSchema.parse(price.unitPrices)
    parts.push({ model, unitPrices, row, trades: sold, offers: await inOrder(ctx, model.id, own) })
  }
  return parts
}

/** Offers in the order of the routing: what is kept, then speed, then the id. */
async function inOrder(ctx: PageCtx, model: string, offers: readonly MarketOffer[]): Promise<MarketParts['offers']> {
  const speeds = await readSpeedClasses(ctx.db, model, ctx.clock.now())
  const speedOf = ({ id }: MarketOffer) => speeds.get(id) ?? Number.MAX_SAFE_INTEGER
  const ranked = [...offers].sort(
    (left, right) => left.keptBps - right.keptBps || speedOf(left) - speedOf(right) || (left.id < right.id ? -1 : 1),
  )
  return ranked.map(({ sellerAccount, ...offer }) => ({
    ...offer,
    sellerAlias: sellerAlias(sellerAccount, ctx.settings.fingerprintPepper),
    keptBps: keptBps(offer.keptBps),
    capDailyMicro: offer.capDailyMicro === null ? null : microUsd(offer.capDailyMicro),
  }))
}

async function liveState(ctx: PageCtx, parts: readonly MarketParts[], capsOfEach: number): Promise<LiveState> {
  const now = ctx.clock.now()
  const ids = parts.flatMap(({ offers }) => offers.map((offer) => offer.id))
  const capped = parts.flatMap(({ offers }) =>
    offers
      .filter((offer) => offer.capDailyMicro !== null)
      .slice(0, capsOfEach)
      .map((offer) => offer.id),
  )
  const [health, taken] = await Promise.all([ctx.offerState.health(ids), ctx.offerState.capTaken(capped)])
  return {
    isHealthy: (offer) => (health.get(offer.id)?.backedOffUntil ?? 0) <= now,
    usedToday: (offer) => {
      const used = taken.get(offer.id)
      return used === undefined ? undefined : microUsd(used)
    },
  }
}
