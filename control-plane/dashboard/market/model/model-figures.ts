import { compact, count, milliseconds, percent, UNKNOWN } from '#control-plane/dashboard/data/format.ts'
import type { Prices } from '#control-plane/dashboard/market/price-text.ts'
import { priceText } from '#control-plane/dashboard/market/price-text.ts'

/** The first figures on the page of a model. The server writes them into the document. */
export type ModelHead = {
  readonly name: string
  readonly description: string
  readonly best: Prices
  readonly direct: Prices
  readonly mediaUnit: string | null
  readonly discountTrend: { readonly direction: string; readonly currentDiscountPct: number } | null
  readonly ttftP50Ms: number | null
  readonly ttftSamples: number
  readonly tpsP50: number | null
  readonly tpsSamples: number
  readonly uptimePct: number | null
  readonly cacheHitRatePct: number | null
}

/** The key of a head in the page's cache, by the name in the address. */
export const modelHeadKey = (name: string): readonly string[] => ['ModelHead', name]

type TextFigure = { readonly label: string; readonly value: string; readonly hint: string }

const TRENDS: Readonly<Record<string, string>> = { up: 'more than the day before', down: 'less than the day before' }

/** The figures of a model in the words of its page. */
export function modelFigures(market: ModelHead): readonly TextFigure[] {
  const { best, direct, mediaUnit, discountTrend } = market
  const trend = discountTrend === null ? 'not enough data' : TRENDS[discountTrend.direction]
  const price = priceText(best, mediaUnit)
  return [
    {
      label: mediaUnit === null ? 'In · out per 1M tokens' : 'Price',
      value: price === UNKNOWN ? 'Not on sale' : price,
      hint: `list ${priceText(direct, mediaUnit)}`,
    },
    {
      label: 'Saved by buyers, 24 h',
      value: percent(discountTrend?.currentDiscountPct),
      hint: trend ?? 'as the day before',
    },
    ...(mediaUnit === null ? speedFigures(market) : []),
    {
      label: 'Calls answered, 24 h',
      value: percent(market.uptimePct, 2),
      hint: `by any provider${market.cacheHitRatePct === null ? '' : `; cache hits ${percent(market.cacheHitRatePct)}`}`,
    },
  ]
}

/** The speed of models that answer by tokens. A picture or a film has neither a first token nor tokens a second. */
function speedFigures(market: ModelHead): readonly TextFigure[] {
  return [
    {
      label: 'First token, median',
      value: milliseconds(market.ttftP50Ms),
      hint: samples(market.ttftSamples),
    },
    {
      label: 'Tokens a second, median',
      value: market.tpsP50 === null ? UNKNOWN : count(market.tpsP50),
      hint: samples(market.tpsSamples),
    },
  ]
}

const samples = (sampleCount: number) =>
  sampleCount === 0 ? 'not enough data' : `of ${compact(sampleCount)} ${sampleCount === 1 ? 'call' : 'calls'} in 24 h`
