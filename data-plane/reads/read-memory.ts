import type { BookOffer, MarketSummary } from '#shared/market-view.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import type { ReadAnswer } from './read.ts'
import { etagOf } from './read.ts'

/** The summary of a model while all its offers can serve, and the prices from which it was made. */
export type Usual = { readonly prices: UnitPrices; readonly summary: MarketSummary }

/** Milliseconds for which an answer about live state is given again. */
const KEEP_LIVE_MS = 1_000

/** Free answers of one plane that are kept to be given again. */
export type ReadMemory = {
  /** Answers with the last text of this name. Builds it anew when one of the objects in `from` has changed. */
  textOf(name: string, from: readonly object[], build: () => string): string
  /**
   * The same for an answer that tells of live state, too: it is made anew once it is {@link KEEP_LIVE_MS} old. Callers at
   * the same time share one, and its tag is computed once. `now` is in Unix milliseconds.
   */
  answerOf(name: string, from: readonly object[], now: number, make: () => Promise<ReadAnswer>): Promise<ReadAnswer>
  readonly summaries: WeakMap<readonly BookOffer[], Usual>
}

type Made = { readonly from: readonly object[] }

export function createReadMemory(): ReadMemory {
  const texts = new Map<string, Made & { readonly text: string }>()
  const answers = new Map<string, Made & { readonly until: number; readonly answer: Promise<ReadAnswer> }>()
  return {
    textOf(name, from, build) {
      const last = texts.get(name)
      if (last !== undefined && isSame(last, from)) return last.text
      const text = build()
      texts.set(name, { from, text })
      return text
    },
    answerOf(name, from, now, make) {
      const last = answers.get(name)
      if (last !== undefined && last.until > now && isSame(last, from)) return last.answer
      const answer = make().then((made) => ({ ...made, etag: etagOf(made.json) }))
      const kept = { from, until: now + KEEP_LIVE_MS, answer }
      answers.set(name, kept)
      // A failure goes to those who wait for it. The next caller tries again.
      answer.catch(() => {
        if (answers.get(name) === kept) answers.delete(name)
      })
      return answer
    },
    summaries: new WeakMap(),
  }
}

function isSame({ from }: Made, parts: readonly object[]): boolean {
  return from.every((part, index) => part === parts[index])
}
