import type { Market } from '#data-plane/store/market.ts'
import type { BookOffer, MarketSummary } from '#shared/market-view.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import type { ReadAnswer } from './read.ts'

/** The summary of a model while all its offers can serve, and the prices from which it was made. */
export type Usual = { readonly prices: UnitPrices; readonly summary: MarketSummary }

/** The list of all markets. It is given again until `until`, in Unix milliseconds. */
export type KeptList = { readonly market: Market; readonly until: number; readonly answer: Promise<ReadAnswer> }

/** Free answers of one plane that are kept to be given again. */
export type ReadMemory = {
  /** Answers with the last text of this name. Builds it anew when one of the objects in `from` has changed. */
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
