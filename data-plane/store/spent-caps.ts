import { SECOND } from '#shared/clock.ts'
import type { MicroUsd } from '#shared/money.ts'

/** How long a refused take keeps an offer out of the routing: a smaller call, or a settled take, may fit again. */
const KEEP_MS = 2 * SECOND
const MAX_OFFERS = 100_000

/** Offers whose daily cap had no room a moment ago. */
export type SpentCaps = {
  isSpent(offer: string, now: number): boolean
  /** What such an offer had used and held of its cap when it refused, if that is known. */
  usedOf(offer: string): MicroUsd | undefined
  mark(offer: string, now: number, usedMicro?: MicroUsd): void
}

type Mark = { readonly until: number; readonly usedMicro: MicroUsd | undefined }

export function createSpentCaps(): SpentCaps {
  const marks = new Map<string, Mark>()
  return {
    isSpent(offer, now) {
      if (marks.size === 0) return false
      const mark = marks.get(offer)
      if (mark === undefined) return false
      if (mark.until > now) return true
      marks.delete(offer)
      return false
    },
    usedOf: (offer) => marks.get(offer)?.usedMicro,
    mark(offer, now, usedMicro) {
      if (marks.size >= MAX_OFFERS) marks.clear()
      marks.set(offer, { until: now + KEEP_MS, usedMicro })
    },
  }
}
