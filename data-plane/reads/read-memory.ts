import type { Market } from '#data-plane/store/market.ts'
import type { BookOffer, MarketSummary } from '#shared/market-view.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import type { ReadAnswer } from './read.ts'

/** A model's summary while all its offers can serve, and the prices that it was made with. */
export type Usual = { readonly prices: UnitPrices; readonly summary: MarketSummary }

/** The list of all markets, and Unix milliseconds until which it is given again. */
export type KeptList = { readonly market: Market; readonly until: number; readonly answer: Promise<ReadAnswer> }

/** What free answers of one plane are given from again. */
export type ReadMemory = {
  /** Returns the last text of this name, or builds it anew when one of the objects that it is made from has changed. */
  textOf(name: string, from: readonly object[], build: () => string): string
  list: KeptList | undefined
  readonly summaries: WeakMap<readonly BookOffer[], Usual>
}

export function createReadMemory(): ReadMemory {
  const texts = new Map<string, { readonly from: readonly object[]; readonly text: string }>()
  return {
    textOf(name, from, build) {
      const last = texts.get(name)
      if (last?.from.every((part, index) => part === from[index])) return last.text
      const text = build()
      texts.set(name, { from, text })
      return text
    },
    list: undefined,
    summaries: new WeakMap(),
  }
}
