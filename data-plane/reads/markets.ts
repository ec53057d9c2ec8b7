import { z } from 'zod'
import { jsonNumber } from '#shared/bigints.ts'
import type { MarketRow } from '#shared/contract/snapshot.ts'
import { parseTrades } from '#shared/contract/trades.ts'
import { AppError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { isRecord } from '#shared/json-members.ts'
import type { BookEntry, BookOffer, MarketParts, MarketSummary, ModelPrices } from '#shared/market-view.ts'
import { buildBook, costMultiplier, modelPrices, summarizeMarket } from '#shared/market-view.ts'
import { KEEP_ALL } from '#shared/money.ts'
import type { LiveReading } from './on-sale.ts'
import { findParts, liveState, partsOf } from './on-sale.ts'
import type { Read, ReadSources } from './read.ts'
import type { ReadAnswer } from './read-answer.ts'
import type { ReadMemory } from './read-memory.ts'

const MAX_AGE_SECONDS = 5
/** Most caps that are read for a row, and for an order book: those of the best offers. */
const CAPS_OF_A_ROW = 8
const CAPS_OF_A_BOOK = 1_000

const PERFORMANCE = '/performance'

/** `GET /api/markets/{model}` and the paths under it. They share a row because a model's name may contain slashes. */
export const readMarketOrPerformance: Read = (sources, request) => {
  const name = request.params['model'] ?? ''
  if (!name.endsWith(PERFORMANCE)) return readMarket(sources, request)
  return readPerformance(sources, { ...request, params: { model: name.slice(0, -PERFORMANCE.length) } })
}

/**
 * `GET /api/markets[?model=][&priced_by=]`: every model on sale, with live prices, health and caps. `priced_by=tokens`
 * leaves only rows whose four token prices are whole numbers, for readers that accept no null there.
 */
export const listMarkets: Read = async (sources, { query }) => {
  const name = query.get('model')
  const by = query.get('priced_by')
  if (by !== null && by !== 'tokens' && by !== 'media') {
    throw new AppError('invalid_request', { message: 'priced_by must be tokens or media.', param: 'priced_by' })
  }
  const all = await (name === null ? listAll(sources) : rowsOf(sources, [sources.market().resolve(name)?.id ?? '']))
  if (by === null) return all
  const { markets } = RowsSchema.parse(JSON.parse(all.json))
  const isShown = by === 'media' ? isOfMedia : isOfTokens
  return { ...all, json: JSON.stringify({ markets: markets.filter(isShown) }) }
}

const TOKEN_PRICES = ['best_input_per_1m', 'best_output_per_1m', 'direct_input_per_1m', 'direct_output_per_1m']
const isOfTokens = (row: Readonly<Record<string, unknown>>) => TOKEN_PRICES.every((name) => Number.isInteger(row[name]))
const isOfMedia = (row: Readonly<Record<string, unknown>>) => row['media_unit'] !== null

/**
 * `GET /api/inference/markets[?model=][&priced_by=]`: the same rows as a bare array, with every amount in US dollars.
 * Some clients read the providers as `providerBreakdown`, too.
 */
export const listMarketsInDollars: Read = async (sources, request) => {
  const { json, maxAgeSeconds } = await listMarkets(sources, request)
  const { markets } = RowsSchema.parse(JSON.parse(json))
  return {
    json: JSON.stringify(markets.map(inDollars).map((row) => ({ ...row, providerBreakdown: row['providers'] }))),
    maxAgeSeconds,
  }
}

const RowsSchema = z.object({ markets: z.array(z.record(z.string(), z.unknown())) })
const MICRO_PER_DOLLAR = 1e6
/** The members of a row, at any depth, that are amounts. */
const AMOUNT = /_per_1m$|_media_unit_price$|^volume_24h$|^total_cap$/

function inDollars(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (typeof value === 'number' && AMOUNT.test(name)) return [name, value / MICRO_PER_DOLLAR]
      if (Array.isArray(value)) return [name, value.map((item) => (isRecord(item) ? inDollars(item) : item))]
      return [name, isRecord(value) ? inDollars(value) : value]
    }),
  )
}

function listAll(sources: ReadSources): Promise<ReadAnswer> {
  const market = sources.market()
  const { memory, clock } = sources
  return memory.answerOf('markets', [market], clock.now(), () => rowsOf(sources, [...market.offers.keys()]))
}

async function rowsOf(sources: ReadSources, models: readonly string[]): Promise<ReadAnswer> {
  const market = sources.market()
  const parts = models.flatMap((id) => {
    const onSale = partsOf(market, id)
    return onSale && !onSale.model.isSandbox ? [onSale] : []
  })
  const live = await liveState(
    sources,
    parts.map(({ offers }) => offers),
    CAPS_OF_A_ROW,
  )
  return {
    json: JSON.stringify({ markets: parts.map((part) => marketRow(sources.memory, part, live)) }),
    maxAgeSeconds: MAX_AGE_SECONDS,
  }
}

/** `GET /api/markets/{model}`: the order book. `model` is spelled as the request spelled it. */
export const readMarket: Read = async (sources, { params }) => {
  const name = params['model'] ?? ''
  const market = sources.market()
  const onSale = findParts(market, name)
  const parts = { ...onSale, trades: market.trades && parseTrades(market.trades.get(onSale.model.id) ?? '') }
  const live = await liveState(sources, [parts.offers], CAPS_OF_A_BOOK)
  const json = JSON.stringify({
    model: name,
    canonical: canonicalOf(parts),
    offers: buildBook(parts, live).map(bookRow),
  })
  return { json, maxAgeSeconds: 0 }
}

/** `GET /api/markets/{model}/performance`: measured speed and uptime by provider. */
export const readPerformance: Read = (sources, { params }) => {
  const name = params['model'] ?? ''
  const { row } = findParts(sources.market(), name)
  const providers = (row?.providers ?? []).map((provider) => ({
    provider: provider.provider,
    ttft_p50_ms: provider.ttftP50Ms,
    ttft_samples: provider.ttftSamples,
    tps_p50: provider.tpsP50,
    tps_samples: provider.tpsSamples,
    uptime_pct: provider.uptimePct,
  }))
  return { json: JSON.stringify({ model: name, providers }), maxAgeSeconds: MAX_AGE_SECONDS }
}

function speedOf(row: MarketRow | undefined): object {
  return {
    ttft_p50_ms: row?.ttftP50Ms ?? null,
    ttft_samples: row?.ttftSamples ?? 0,
    tps_p50: row?.tpsP50 ?? null,
    tps_samples: row?.tpsSamples ?? 0,
    uptime_pct: row?.uptimePct ?? null,
    cache_hit_rate_pct: row?.cacheHitRatePct ?? null,
  }
}

function trendOf(row: MarketRow | undefined): object | null {
  const trend = row?.discountTrend
  if (!trend) return null
  return {
    direction: trend.direction,
    current_discount_pct: trend.currentDiscountPct,
    previous_discount_pct: trend.previousDiscountPct,
    buckets: trend.buckets.map(({ bucket, discountPct }) => ({ bucket, discount_pct: discountPct })),
  }
}

function bestOf(best: ModelPrices): object {
  return {
    best_input_per_1m: jsonNumber(best.input),
    best_output_per_1m: jsonNumber(best.output),
    best_media_unit_price: jsonNumber(best.mediaUnitPrice),
  }
}

/** Input plus output, the figure by which buyers compare models. Null for a model that is not priced by tokens. */
function priceOf({ input, output }: ModelPrices): number | null {
  return input === null && output === null ? null : Number((input ?? 0n) + (output ?? 0n))
}

/** The summary of a model. While none of its offers is backed off or has a used-up cap, the last one is reused. */
function summaryOf({ summaries }: ReadMemory, parts: MarketParts, live: LiveReading): MarketSummary {
  const { offers, unitPrices } = parts
  if (!isUndisturbed(offers, live)) return summarizeMarket(parts, live)
  const lastSummary = summaries.get(offers)
  if (lastSummary !== undefined && lastSummary.prices === unitPrices) return lastSummary.summary
  const summary = summarizeMarket(parts, live)
  summaries.set(offers, { prices: unitPrices, summary })
  return summary
}

/** True while every offer is healthy and no cap that was read is used up. */
function isUndisturbed(offers: readonly BookOffer[], { blocked, usedMicro }: LiveReading): boolean {
  if (blocked.size > 0 && offers.some((offer) => blocked.has(offer.id))) return false
  let questions = 0
  for (const offer of offers) {
    if (offer.capDailyMicro === null) continue
    if (questions++ >= CAPS_OF_A_ROW) break
    const soldMicro = isId('ofr', offer.id) ? usedMicro.get(offer.id) : undefined
    if (soldMicro !== undefined && soldMicro >= offer.capDailyMicro) return false
  }
  return true
}

function marketRow(memory: ReadMemory, parts: MarketParts, live: LiveReading): object {
  const summary = summaryOf(memory, parts, live)
  const { row, model } = parts
  const speeds = new Map((row?.providers ?? []).map((provider) => [provider.provider, provider]))
  return {
    model: model.id,
    name: model.name,
    ...bestOf(summary.best),
    best_cache_read_per_1m: jsonNumber(summary.best.cacheRead),
    best_cache_write_per_1m: jsonNumber(summary.best.cacheWrite),
    direct_input_per_1m: jsonNumber(summary.direct.input),
    direct_output_per_1m: jsonNumber(summary.direct.output),
    best_price_per_1m: priceOf(summary.best),
    best_discount_pct: summary.bestDiscountPct,
    best_unit_prices: summary.best.unitPrices,
    direct_media_unit_price: jsonNumber(summary.direct.mediaUnitPrice),
    direct_unit_prices: summary.direct.unitPrices,
    media_unit: summary.direct.mediaUnit,
    healthy_seller_count: summary.healthySellerCount,
    requests_24h: row?.requests24h ?? null,
    volume_24h: jsonNumber(row?.volume24hMicro ?? null),
    total_cap: jsonNumber(summary.totalCap),
    untrusted: {
      ...bestOf(summary.untrusted.best),
      best_discount_pct: summary.untrusted.bestDiscountPct,
      healthy_seller_count: summary.untrusted.healthySellerCount,
    },
    ...speedOf(row),
    discount_trend: trendOf(row),
    providers: summary.providers.map((provider) => ({
      provider: provider.provider,
      trusted: provider.isTrusted,
      healthy_seller_count: provider.healthySellerCount,
      ...bestOf(provider.best),
      ttft_p50_ms: speeds.get(provider.provider)?.ttftP50Ms ?? null,
      ttft_samples: speeds.get(provider.provider)?.ttftSamples ?? 0,
      tps_p50: speeds.get(provider.provider)?.tpsP50 ?? null,
      tps_samples: speeds.get(provider.provider)?.tpsSamples ?? 0,
    })),
  }
}

function canonicalOf(parts: MarketParts): object {
  const direct = modelPrices(parts.model, parts.unitPrices, KEEP_ALL)
  return {
    model: parts.model.id,
    name: parts.model.name,
    direct_input_per_1m: jsonNumber(direct.input),
    direct_output_per_1m: jsonNumber(direct.output),
    direct_cache_read_per_1m: jsonNumber(direct.cacheRead),
    direct_cache_write_per_1m: jsonNumber(direct.cacheWrite),
    media_unit: direct.mediaUnit,
    direct_media_unit_price: jsonNumber(direct.mediaUnitPrice),
    direct_unit_prices: direct.unitPrices,
  }
}

function bookRow(entry: BookEntry): object {
  const { offer, direct, effective } = entry
  return {
    id: offer.id,
    seller: offer.sellerAlias,
    seller_base_url: offer.baseUrl,
    provider: offer.provider,
    rank: entry.rank,
    price_input_per_1m: jsonNumber(effective.input),
    price_output_per_1m: jsonNumber(effective.output),
    effective_input_per_1m: jsonNumber(effective.input),
    effective_output_per_1m: jsonNumber(effective.output),
    direct_input_per_1m: jsonNumber(direct.input),
    direct_output_per_1m: jsonNumber(direct.output),
    cost_multiplier: costMultiplier(offer.keptBps),
    discount_pct: entry.discountPct,
    cap_daily: jsonNumber(offer.capDailyMicro),
    cap_remaining: jsonNumber(entry.capRemaining),
    available: entry.isAvailable,
    healthy: entry.isHealthy,
    trusted: offer.isTrusted,
    trades_24h: entry.trades?.count ?? null,
    volume_24h: jsonNumber(entry.trades?.volumeMicro ?? null),
    media_unit: direct.mediaUnit,
    media_unit_price: jsonNumber(effective.mediaUnitPrice),
    direct_media_unit_price: jsonNumber(direct.mediaUnitPrice),
    unit_prices: effective.unitPrices,
  }
}
