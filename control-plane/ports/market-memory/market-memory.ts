import type { MarketRow, SoldRow } from '#shared/contract/snapshot.ts'
import type { OfferTrades } from '#shared/contract/trades.ts'
import type { BookOffer, LiveState, MarketSummary } from '#shared/market-view.ts'

/** Most offers that one process remembers over all models. It forgets the least recently used models first. */
export const MAX_REMEMBERED = 200_000

/** The offers of a model in one version of its document. */
export type Shelf = { readonly version: number; readonly offers: readonly BookOffer[] }
/** A value and the Unix milliseconds of its read. */
export type Aged<Value> = { readonly at: number; readonly value: Promise<Value> }
/** The offers of a model and their live state at the time of the read. */
export type LiveRow = { readonly at: number; readonly offers: readonly BookOffer[]; readonly live: LiveState }
/** A summary with the live state and prices that it was computed from. */
export type Summed = { readonly live: LiveState; readonly prices: string; readonly summary: MarketSummary }

/** The market data that one process remembers, most of it by model. */
export type MarketMemory = {
  readonly offers: ReadonlyMap<string, Shelf>
  readonly live: Map<string, Aged<LiveState>>
  readonly liveRows: Map<string, LiveRow>
  readonly trades: Map<string, Aged<ReadonlyMap<string, OfferTrades>>>
  /** Sales on lent keys, of all resources together. */
  readonly sold: Map<string, Aged<readonly SoldRow[]>>
  readonly figures: Map<string, { readonly at: number; readonly row: MarketRow }>
  /** Values computed from a book. They are dropped together with the book. */
  readonly ofBook: {
    readonly counts: WeakMap<readonly BookOffer[], ReadonlyMap<string, number>>
    readonly ids: WeakMap<readonly BookOffer[], ReadonlySet<string>>
    readonly summaries: WeakMap<readonly BookOffer[], Summed>
  }
  /** Remembers the offers of a model, and forgets other models beyond {@link MAX_REMEMBERED} offers. */
  remember(model: string, shelf: Shelf): void
}

export function createMarketMemory(): MarketMemory {
  const offers = new Map<string, Shelf>()
  let count = 0
  const memory: MarketMemory = {
    offers,
    live: new Map(),
    liveRows: new Map(),
    trades: new Map(),
    sold: new Map(),
    figures: new Map(),
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
