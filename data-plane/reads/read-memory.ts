import type { BookOffer, MarketSummary } from '#shared/market-view.ts'
import type { KeptBps } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import type { ReadAnswer } from './read-answer.ts'
import { etagOf } from './read-answer.ts'

/** The best offers that can serve each model now, by its id. A model without an entry has none. */
export type Availability = ReadonlyMap<string, BestKept>

/**
 * The kept shares of the best offer that default routing uses, and of the best one that only calls with untrusted
 * providers use.
 */
export type BestKept = { readonly trusted: KeptBps | undefined; readonly untrusted: KeptBps | undefined }

/** The summary of a model while all its offers can serve, and the prices from which it was made. */
export type Usual = { readonly prices: UnitPrices; readonly summary: MarketSummary }

/** Milliseconds for which an answer about live state is repeated. */
const KEEP_LIVE_MS = 1_000

/**
 * Returns the last value of this name. Makes it anew when one of the objects in `from` has changed and once it is
 * {@link KEEP_LIVE_MS} old. Concurrent callers share one value. `now` is in Unix milliseconds.
 */
type KeepLive<Value> = (
  name: string,
  from: readonly object[],
  now: number,
  make: () => Promise<Value>,
) => Promise<Value>

/** Free answers of one plane that are kept for repetition. */
export type ReadMemory = {
  /** Returns the last text of this name. Builds it anew when one of the objects in `from` has changed. */
  textOf(name: string, from: readonly object[], build: () => string): string
  /** Keeps an answer with live state. Its tag is computed once. */
  readonly answerOf: KeepLive<ReadAnswer>
  readonly availabilityOf: KeepLive<Availability>
  readonly summaries: WeakMap<readonly BookOffer[], Usual>
}

type Made = { readonly from: readonly object[] }

export function createReadMemory(): ReadMemory {
  const texts = new Map<string, Made & { readonly text: string }>()
  const keepAnswer = keepLive<ReadAnswer>()
  return {
    textOf(name, from, build) {
      const last = texts.get(name)
      if (last !== undefined && isSame(last, from)) return last.text
      const text = build()
      texts.set(name, { from, text })
      return text
    },
    answerOf: (name, from, now, make) =>
      keepAnswer(name, from, now, async () => {
        const readAnswer = await make()
        return { ...readAnswer, etag: etagOf(readAnswer.json) }
      }),
    availabilityOf: keepLive<Availability>(),
    summaries: new WeakMap(),
  }
}

function keepLive<Value>(): KeepLive<Value> {
  const entries = new Map<string, Made & { readonly until: number; readonly value: Promise<Value> }>()
  return (name, from, now, make) => {
    const last = entries.get(name)
    if (last !== undefined && last.until > now && isSame(last, from)) return last.value
    const value = make()
    const entry = { from, until: now + KEEP_LIVE_MS, value }
    entries.set(name, entry)
    // A failure reaches the present waiters. The next caller tries again.
    value.catch(() => {
      if (entries.get(name) === entry) entries.delete(name)
    })
    return value
  }
}

function isSame({ from }: Made, parts: readonly object[]): boolean {
  return from.every((part, index) => part === parts[index])
}
