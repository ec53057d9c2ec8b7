import type { MarketRow } from '#shared/contract/snapshot.ts'
import type { OfferTrades } from '#shared/contract/trades.ts'
import type { BookOffer, LiveState, MarketSummary } from '#shared/market-view.ts'

/** Offers that one process remembers over all models; the models asked for longest ago are forgotten first. */
export const MAX_REMEMBERED = 200_000

/** The offers of a model as the document of a version has them. */
export type Shelf = { readonly version: number; readonly offers: readonly BookOffer[] }
/** An answer and when it was asked for, in Unix milliseconds. */
export type Aged<Value> = { readonly at: number; readonly value: Promise<Value> }
/** What was true of the offers of a model when it was asked after. */
export type LiveRow = { readonly at: number; readonly offers: readonly BookOffer[]; readonly live: LiveState }
/** A summary, and what it was made of beside the offers. */
export type Summed = { readonly live: LiveState; readonly prices: string; readonly summary: MarketSummary }

/** What one process remembers of the market, most of it by model. */
export type MarketMemory = {
  readonly offers: ReadonlyMap<string, Shelf>
  readonly live: Map<string, Aged<LiveState>>
  readonly liveRows: Map<string, LiveRow>
  readonly trades: Map<string, Aged<ReadonlyMap<string, OfferTrades>>>
  readonly figures: Map<string, { readonly at: number; readonly row: MarketRow }>
  /** What was worked out of a book; it goes with the book. */
  readonly ofBook: {
    readonly counts: WeakMap<readonly BookOffer[], ReadonlyMap<string, number>>
    readonly ids: WeakMap<readonly BookOffer[], ReadonlySet<string>>
    readonly summaries: WeakMap<readonly BookOffer[], Summed>
  }
  /** Keeps the offers of a model, and forgets other models past {@link MAX_REMEMBERED}. */
  remember(model: string, shelf: Shelf): void
}

/** An empty memory. */
export function createMarketMemory(): MarketMemory {
  const offers = new Map<string, Shelf>()
  let count = 0
  const memory: MarketMemory = {
    ...{ offers, live: new Map(), liveRows: new Map(), trades: new Map(), figures: new Map() },
    ofBook: { counts: new WeakMap(), ids: new WeakMap(), summaries: new WeakMap() },
    remember(model, shelf) {
      count += shelf.offers.length - (offers.get(model)?.offers.length ?? 0)
      offers.delete(model)
      offers.set(model, shelf)
      for (const [oldest, forgotten] of offers) {
        if (count <= MAX_REMEMBERED || oldest === model) break
        count -= forgotten.offers.length
        offers.delete(oldest)
        memory.live.delete(oldest)
        memory.liveRows.delete(oldest)
        memory.trades.delete(oldest)
      }
    },
  }
  return memory
}
