import { z } from 'zod'
import type { ModelChoice } from '#control-plane/db/market-book.ts'
import { findModelBody, listMarketModels } from '#control-plane/db/market-book.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { MarketMemory } from '#control-plane/ports/market-memory/market-memory.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { ModelName, PageSize } from '#control-plane/services/input-fields.ts'
import type { SignedPage } from '#control-plane/services/page.ts'
import { signedPageOf, signedPageSchema } from '#control-plane/services/page.ts'
import type { Model } from '#shared/catalog/model.ts'
import { ModelSchema } from '#shared/catalog/model.ts'
import { KeptBpsNumber } from '#shared/contract/micro-usd-text.ts'
import { AppError } from '#shared/errors.ts'
import type { BookEntry, BookRank, LiveState, MarketParts, MarketSummary } from '#shared/market-view.ts'
import { buildBook, byBookRank, summarizeMarket } from '#shared/market-view.ts'
import { writeUnitPrices } from '#shared/pricing.ts'
import { oneLine } from '#shared/texts.ts'
import type { MarketPlace } from './market-order.ts'
import { chooseMarkets, MarketChoice, placeAfter, placeOfMarket } from './market-order.ts'
import type { MarketView } from './market-outputs.ts'
import { BookEntrySchema, MarketViewSchema } from './market-outputs.ts'
import type { MarketCtx } from './market-parts.ts'
import {
  readFigures,
  readLive,
  readLiveRows,
  readOffers,
  readTrades,
  readUnitPrices,
  rememberedOffers,
} from './market-parts.ts'

/** `total` counts the models of all pages. Null for an order without live state, for which they are not counted. */
export const MarketPageSchema = signedPageSchema(MarketViewSchema).extend({ total: z.number().int().nullable() })
export type MarketPage = SignedPage<MarketView> & { readonly total: number | null }

const Word = oneLine(100).min(1)
const Token = oneLine(400)

/** Most models that are compared to sort by, or filter on, live state. */
const MAX_COMPARED = 5_000

/** Lists models on the market with their prices and figures, sorted by id or by `sort`. */
export const listMarketRowsPage = defineOperation({
  name: 'market.list',
  summary: 'List models on the market with their prices and figures',
  access: 'public',
  input: z.strictObject({
    maxItems: PageSize,
    nextToken: Token.optional(),
    search: Word.optional(),
    modality: Word.optional(),
    feature: Word.optional(),
    minContext: z.number().int().positive().optional(),
    ...MarketChoice.shape,
  }),
  limit: 'read',
  idempotency: 'none',
  output: MarketPageSchema,
  run: async (
    ctx,
    _actor,
    { maxItems, nextToken, search, modality, feature, minContext, ...choice },
  ): Promise<MarketPage> => {
    const by = { search, modality, feature, minContext }
    if (Object.keys(choice).length > 0) return listChosen(ctx, by, { maxItems, nextToken, choice })
    const scope = { list: 'markets', tenant: 'public' }
    const after = nextToken === undefined ? undefined : textOf(readCursor(ctx, scope, nextToken))
    const models = await readModels(ctx, { ...by, after, limit: maxItems + 1 })
    const cursorOf = ({ id }: { readonly id: string }) => signCursor(ctx, scope, tokenOf(id))
    const { items, nextToken: next } = signedPageOf(models, maxItems, (model) => model, cursorOf)
    return { items: await viewMarkets(ctx, items), nextToken: next, cursorOf, total: null }
  },
})

type Choice = { readonly maxItems: number; readonly nextToken: string | undefined; readonly choice: MarketChoice }

/** A page in an order that depends on live state, so every model is read. */
async function listChosen(
  ctx: MarketCtx,
  by: Omit<ModelChoice, 'limit'>,
  { maxItems, nextToken, choice }: Choice,
): Promise<MarketPage> {
  const scope = { list: 'chosen-markets', tenant: 'public', filters: [choice.sort, choice.isReversed] }
  const after = nextToken === undefined ? undefined : marketPlaceOf(textOf(readCursor(ctx, scope, nextToken)))
  const models = await readModels(ctx, { ...by, limit: MAX_COMPARED })
  const all = chooseMarkets(await viewMarkets(ctx, models), choice)
  const markets = after === undefined ? all : all.slice(placeAfter(all, choice, after))
  const cursorOf = (market: MarketView) => {
    const { worth, id } = placeOfMarket(market, choice)
    return signCursor(ctx, scope, tokenOf(`${worth ?? ''} ${id}`))
  }
  return { ...signedPageOf(markets, maxItems, (market) => market, cursorOf), total: all.length }
}

async function readModels(ctx: Pick<Ctx, 'db'>, choice: ModelChoice): Promise<Model[]> {
  return (await listMarketModels(ctx.db, choice)).map((body) => ModelSchema.parse(body))
}

function marketPlaceOf(position: string): MarketPlace {
  const [worth = '', id = ''] = position.split(' ')
  return { worth: worth === '' ? null : Number(worth), id }
}

/** Reads one model by any of its names. Throws `not_found`. */
export const readMarketOfModel = defineOperation({
  name: 'market.get',
  summary: 'Get a model of the market',
  access: 'public',
  input: z.strictObject({ model: ModelName }),
  limit: 'read',
  idempotency: 'none',
  output: MarketViewSchema,
  run: async (ctx, _actor, { model }): Promise<MarketView> => {
    const [market] = await viewMarkets(ctx, [await requireModel(ctx, model)])
    if (market === undefined) throw new AppError('not_found')
    return market
  },
})

/** Adds prices and figures to models, in the given order. */
export async function viewMarkets(ctx: MarketCtx, models: readonly Model[]): Promise<MarketView[]> {
  const ids = models.map(({ id }) => id)
  const [offers, prices, figures] = await Promise.all([
    readOffers(ctx, ids),
    readUnitPrices(ctx, ids),
    readFigures(ctx, ids),
    // Most offers are in memory. Their live state is read at the same time as the books; the state of the other offers
    // follows.
    readLiveRows(ctx, rememberedOffers(ctx, ids)),
  ])
  const live = await readLiveRows(ctx, offers)
  return models.flatMap((model) => {
    const [row, own, state] = [figures.get(model.id), offers.get(model.id), live.get(model.id)]
    if (row === undefined || own === undefined || state === undefined) return []
    const parts = { model, unitPrices: prices.get(model.id) ?? {}, row, offers: own, trades: null }
    return [
      { id: model.id, model, summary: summaryOf(ctx.marketMemory, parts, state), figures: row, offerCount: own.length },
    ]
  })
}

/**
 * The summary of a model. The last summary is reused while its offers, their live state and the prices are the same.
 */
function summaryOf({ ofBook: { summaries } }: MarketMemory, parts: MarketParts, live: LiveState): MarketSummary {
  const prices = JSON.stringify(writeUnitPrices(parts.unitPrices))
  const knownSummary = summaries.get(parts.offers)
  if (knownSummary !== undefined && knownSummary.live === live && knownSummary.prices === prices)
    return knownSummary.summary
  const summary = summarizeMarket(parts, live)
  summaries.set(parts.offers, { live, prices, summary })
  return summary
}

/** The order book of a model, best offer first. */
export const BookPageSchema = signedPageSchema(BookEntrySchema).extend({ model: ModelSchema })
export type BookPage = SignedPage<BookEntry> & { readonly model: Model }

/** Reads the public order book of a model by any of its names. Throws `not_found`. */
export const readOrderBook = defineOperation({
  name: 'market.book',
  summary: 'Get the order book of a model, best offer first',
  access: 'public',
  input: z.strictObject({ model: ModelName, maxItems: PageSize, nextToken: Token.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: BookPageSchema,
  run: async (ctx, _actor, { model: name, maxItems, nextToken }): Promise<BookPage> => {
    const model = await requireModel(ctx, name)
    const scope = { list: 'book', tenant: 'public', filters: [model.id] }
    const after = nextToken === undefined ? undefined : rankOf(readCursor(ctx, scope, nextToken))
    const rest = await readBook(ctx, model, { after, count: maxItems + 1 })
    const cursorOf = ({ offer }: BookEntry) => signCursor(ctx, scope, placeOf(offer))
    return { model, ...signedPageOf(rest, maxItems, (entry) => entry, cursorOf) }
  },
})

/** The entries of a model's book after a rank, best first, at most `limit`. */
export async function readBook(
  ctx: MarketCtx,
  model: Model,
  { after, count }: { readonly after?: BookRank | undefined; readonly count: number },
): Promise<BookEntry[]> {
  const [offers, prices, trades] = await Promise.all([
    readOffers(ctx, [model.id]),
    readUnitPrices(ctx, [model.id]),
    readTrades(ctx, model.id),
  ])
  const ofModel = offers.get(model.id) ?? []
  const live = await readLive(ctx, model.id, ofModel)
  const parts = { model, unitPrices: prices.get(model.id) ?? {}, row: undefined, offers: ofModel, trades }
  const from = after === undefined ? 0 : ofModel.findIndex((offer) => byBookRank(offer, after) > 0)
  return from < 0 ? [] : buildBook(parts, live, { from, count })
}

/** Finds a model by any of its names. Throws `not_found`. */
export async function requireModel(ctx: Pick<Ctx, 'db'>, name: string): Promise<Model> {
  const body = await findModelBody(ctx.db, name)
  if (body === undefined) throw new AppError('not_found', { message: 'The model does not exist.' })
  return ModelSchema.parse(body)
}

/** A token in hex, because ids of models hold characters that a token cannot. */
function tokenOf(id: string): string {
  return Buffer.from(id).toString('hex')
}

function textOf(position: string): string {
  return Buffer.from(position, 'hex').toString()
}

function placeOf({ isTrusted, keptBps, ttftMs, id }: BookRank): string {
  return `${isTrusted ? 1 : 0}.${keptBps}.${ttftMs ?? ''}.${id}`
}

function rankOf(position: string): BookRank {
  const [trusted = '', keptText = '', ttft = '', id = ''] = position.split('.')
  const keptBps = KeptBpsNumber.parse(Number(keptText))
  return { isTrusted: trusted === '1', keptBps, ttftMs: ttft === '' ? null : Number(ttft), id }
}
