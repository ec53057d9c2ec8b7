import { SECOND } from '#shared/clock.ts'

/** How long a refused take keeps an offer out of the routing: a smaller call, or a settled take, may fit again. */
const KEEP_MS = 2 * SECOND
const MAX_OFFERS = 100_000

/** Offers whose daily cap had no room a moment ago. */
export type SpentCaps = {
  isSpent(offer: string, now: number): boolean
  mark(offer: string, now: number): void
}

export function createSpentCaps(): SpentCaps {
  const until = new Map<string, number>()
  return {
    isSpent(offer, now) {
      if (until.size === 0) return false
      const at = until.get(offer)
      if (at === undefined) return false
      if (at > now) return true
      until.delete(offer)
      return false
    },
    mark(offer, now) {
      if (until.size >= MAX_OFFERS) until.clear()
      until.set(offer, now + KEEP_MS)
    },
  }
}
