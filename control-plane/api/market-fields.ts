import type { MarketView } from '#control-plane/services/market/market-outputs.ts'
import { jsonNumber } from '#shared/bigints.ts'
import type { BookEntry, ModelPrices } from '#shared/market-view.ts'
import { costMultiplier } from '#shared/market-view.ts'

/**
 * A model on the market for GraphQL and tRPC. Prices are whole micro-USD, small enough to be exact as numbers. Sums of
 * money are plain digits. Figures cover the last 24 hours; null means too little data, never zero.
 */
export function marketFields({ id, model, summary, figures, offerCount }: MarketView) {
  // A single literal without spreads. Lists have hundreds of these, and objects made by spreads are slow.
  return {
    id,
    name: model.name,
    lab: model.lab,
    description: model.description,
    aliases: model.aliases,
    contextLength: model.contextLength,
    maxCompletionTokens: model.maxCompletionTokens,
    mediaUnit: summary.direct.mediaUnit,
    inputModalities: model.inputModalities,
    outputModalities: model.outputModalities,
    features: model.features,
    parameters: model.parameters,
    endpoints: model.endpoints,
    createdAt: model.created * 1_000,
    offerCount,
    best: priceFields(summary.best),
    direct: priceFields(summary.direct),
    bestDiscountPct: summary.bestDiscountPct,
    bestMediaUnitPrice: jsonNumber(summary.best.mediaUnitPrice),
    healthySellerCount: summary.healthySellerCount,
    totalCapMicro: jsonNumber(summary.totalCap),
    untrusted: {
      best: priceFields(summary.untrusted.best),
      bestDiscountPct: summary.untrusted.bestDiscountPct,
      healthySellerCount: summary.untrusted.healthySellerCount,
    },
    requests24h: figures.requests24h,
    volume24hMicro: figures.volume24hMicro?.toString() ?? null,
    ttftP50Ms: figures.ttftP50Ms,
    ttftSamples: figures.ttftSamples,
    tpsP50: figures.tpsP50,
    tpsSamples: figures.tpsSamples,
    uptimePct: figures.uptimePct,
    cacheHitRatePct: figures.cacheHitRatePct,
    discountTrend: figures.discountTrend,
    providers: providersOf({ summary, figures }),
  }
}
export type MarketFields = ReturnType<typeof marketFields>

function providersOf({ summary, figures }: Pick<MarketView, 'summary' | 'figures'>) {
  const speeds = new Map(figures.providers.map((provider) => [provider.provider, provider]))
  return summary.providers.map(({ provider, isTrusted, healthySellerCount, best }) => {
    const speed = speeds.get(provider)
    return {
      provider,
      trusted: isTrusted,
      healthySellerCount,
      best: priceFields(best),
      ttftP50Ms: speed?.ttftP50Ms ?? null,
      ttftSamples: speed?.ttftSamples ?? 0,
      tpsP50: speed?.tpsP50 ?? null,
      tpsSamples: speed?.tpsSamples ?? 0,
      uptimePct: speed?.uptimePct ?? null,
    }
  })
}

/** An offer in the public order book, without its seller. Amounts are micro-USD. */
export function bookOfferFields(entry: BookEntry) {
  const { offer, rank, discountPct, trades } = entry
  return {
    id: offer.id,
    rank,
    seller: offer.sellerAlias,
    sellerBaseUrl: offer.baseUrl,
    provider: offer.provider,
    trusted: offer.isTrusted,
    effective: priceFields(entry.effective),
    direct: priceFields(entry.direct),
    discountPct,
    costMultiplier: costMultiplier(offer.keptBps),
    capDailyMicro: jsonNumber(offer.capDailyMicro),
    capRemainingMicro: jsonNumber(entry.capRemaining),
    available: entry.isAvailable,
    healthy: entry.isHealthy,
    trades24h: trades?.count ?? null,
    volume24hMicro: trades?.volumeMicro.toString() ?? null,
    mediaUnit: entry.direct.mediaUnit,
    mediaUnitPrice: jsonNumber(entry.effective.mediaUnitPrice),
    directMediaUnitPrice: jsonNumber(entry.direct.mediaUnitPrice),
  }
}
export type BookOfferFields = ReturnType<typeof bookOfferFields>

function priceFields({ input, output, cacheRead, cacheWrite, mediaUnitPrice, unitPrices }: ModelPrices) {
  return {
    inputPer1m: jsonNumber(input),
    outputPer1m: jsonNumber(output),
    cacheReadPer1m: jsonNumber(cacheRead),
    cacheWritePer1m: jsonNumber(cacheWrite),
    mediaUnitPrice: jsonNumber(mediaUnitPrice),
    unitPrices,
  }
}
export type PriceFields = ReturnType<typeof priceFields>
