import type { Offer } from '#data-plane/call.ts'
import type { Market } from '#data-plane/store/market.ts'
import type { Model } from '#shared/catalog/model.ts'
import type { MarketRow, OfferRow } from '#shared/contract/snapshot.ts'
import { AppError } from '#shared/errors.ts'
import type { OfferId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { BookEntry, LiveState, MarketParts, TokenPrices } from '#shared/market-view.ts'
import { buildBook, costMultiplier, summarizeMarket, tokenPrices } from '#shared/market-view.ts'
import { KEEP_ALL } from '#shared/money.ts'
import type { Read, ReadSources } from './read.ts'

const MAX_AGE_SECONDS = 5

/** `GET /api/markets[?model=]`: every model that anybody sells, with live prices, health and caps. */
export const listMarkets: Read = async (sources, { query }) => {
  const market = sources.market()
  const asked = query.get('model')
  const models = asked === null ? [...market.offers.keys()] : [market.resolve(asked)?.id ?? '']
  const parts = models.flatMap((id) => {
    const found = partsOf(market, id)
    return found && !found.model.isSandbox ? [found] : []
  })
  const live = await liveState(
    sources,
    parts.flatMap(({ offers }) => offers),
  )
  return {
    json: JSON.stringify({ markets: parts.map((part) => marketRow(part, live)) }),
    maxAgeSeconds: MAX_AGE_SECONDS,
  }
}

/** `GET /api/markets/{model}`: the order book; `model` comes back as it was asked for. */
export const readMarket: Read = async (sources, { params }) => {
  const asked = params['model'] ?? ''
  const parts = findParts(sources.market(), asked)
  const live = await liveState(sources, parts.offers)
  const json = JSON.stringify({
    model: asked,
    canonical: canonicalOf(parts),
    offers: buildBook(parts, live).map((entry) => bookRow(entry, parts.model)),
  })
  return { json, maxAgeSeconds: 0 }
}

/** `GET /api/markets/{model}/performance`: measured speed and uptime by provider. */
export const readPerformance: Read = (sources, { params }) => {
  const asked = params['model'] ?? ''
  const { row } = findParts(sources.market(), asked)
  const providers = (row?.providers ?? []).map((provider) => ({
    provider: provider.provider,
    ttft_p50_ms: provider.ttftP50Ms,
    ttft_samples: provider.ttftSamples,
    tps_p50: provider.tpsP50,
    tps_samples: provider.tpsSamples,
    uptime_pct: provider.uptimePct,
  }))
  return { json: JSON.stringify({ model: asked, providers }), maxAgeSeconds: MAX_AGE_SECONDS }
}

function findParts(market: Market, asked: string): MarketParts & { readonly offers: readonly Offer[] } {
  const model = market.resolve(asked)
  if (!model) throw new AppError('not_found', { message: 'The model does not exist.' })
  const parts = partsOf(market, model.id)
  return parts ?? { model, unitPrices: market.prices.get(model.id)?.unitPrices ?? {}, row: undefined, offers: [] }
}

function partsOf(market: Market, id: string): (MarketParts & { readonly offers: readonly Offer[] }) | undefined {
  const offers = market.offers.get(id)
  const model = market.resolve(id)
  const price = market.prices.get(id)
  if (!offers || offers.length === 0 || !model || !price) return undefined
  return { model, unitPrices: price.unitPrices, row: market.rowByModel.get(id), offers }
}

async function liveState({ health, caps, clock }: ReadSources, offers: readonly Offer[]): Promise<LiveState> {
  const now = clock.now()
  const capped = offers.filter((offer) => offer.capDailyMicro !== null).map((offer) => offer.id)
  const used = await caps.usedToday(capped)
  const blocked = new Set(
    health.isAllWell() ? [] : offers.filter((offer) => health.blockedUntil(offer, now) > now).map((offer) => offer.id),
  )
  const idOf = (offer: OfferRow): OfferId | undefined => (isId('ofr', offer.id) ? offer.id : undefined)
  return {
    isHealthy: (offer) => {
      const id = idOf(offer)
      return id === undefined || !blocked.has(id)
    },
    usedToday: (offer) => {
      const id = idOf(offer)
      return id === undefined ? undefined : used.get(id)
    },
  }
}

/** Bigints of these sizes are exact as JSON numbers. */
function shown(value: bigint | null): number | null {
  return value === null ? null : Number(value)
}

function speedOf(row: MarketRow | undefined): object {
  return {
    ttft_p50_ms: row?.ttftP50Ms ?? null,
    ttft_samples: row?.ttftSamples ?? 0,
    tps_p50: row?.tpsP50 ?? null,
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

function bestOf(best: TokenPrices): object {
  return { best_input_per_1m: shown(best.input), best_output_per_1m: shown(best.output) }
}

function marketRow(parts: MarketParts, live: LiveState): object {
  const summary = summarizeMarket(parts, live)
  const { row, model } = parts
  const speeds = new Map((row?.providers ?? []).map((provider) => [provider.provider, provider]))
  return {
    model: model.id,
    name: model.name,
    ...bestOf(summary.best),
    best_cache_read_per_1m: shown(summary.best.cacheRead),
    best_cache_write_per_1m: shown(summary.best.cacheWrite),
    direct_input_per_1m: shown(summary.direct.input),
    direct_output_per_1m: shown(summary.direct.output),
    best_discount_pct: summary.bestDiscountPct,
    best_media_unit_price: shown(summary.bestMediaUnitPrice),
    media_unit: model.mediaUnit,
    healthy_seller_count: summary.healthySellerCount,
    requests_24h: row?.requests24h ?? 0,
    volume_24h: shown(row?.volume24hMicro ?? 0n),
    total_cap: shown(summary.totalCap),
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
  const direct = tokenPrices(parts.unitPrices, KEEP_ALL)
  return {
    model: parts.model.id,
    name: parts.model.name,
    direct_input_per_1m: shown(direct.input),
    direct_output_per_1m: shown(direct.output),
    direct_cache_read_per_1m: shown(direct.cacheRead),
    direct_cache_write_per_1m: shown(direct.cacheWrite),
    media_unit: parts.model.mediaUnit,
  }
}

function bookRow(entry: BookEntry, model: Model): object {
  const { offer, direct, effective } = entry
  return {
    id: offer.id,
    seller: offer.sellerAlias,
    seller_base_url: offer.baseUrl,
    provider: offer.provider,
    rank: entry.rank,
    price_input_per_1m: shown(effective.input),
    price_output_per_1m: shown(effective.output),
    effective_input_per_1m: shown(effective.input),
    effective_output_per_1m: shown(effective.output),
    direct_input_per_1m: shown(direct.input),
    direct_output_per_1m: shown(direct.output),
    cost_multiplier: costMultiplier(offer.keptBps),
    discount_pct: entry.discountPct,
    cap_daily: shown(offer.capDailyMicro),
    cap_remaining: shown(entry.capRemaining),
    available: entry.isAvailable,
    healthy: entry.isHealthy,
    trusted: offer.isTrusted,
    trades_24h: offer.stats.trades24h,
    volume_24h: shown(offer.stats.volume24hMicro),
    media_unit: model.mediaUnit,
    media_unit_price: shown(entry.mediaUnitPrice),
    direct_media_unit_price: shown(entry.directMediaUnitPrice),
  }
}
