import { SECOND } from '#shared/clock.ts'
import type { MicroUsd } from '#shared/money.ts'

/**
 * A refused take keeps an offer out of the routing for this time. After that a smaller call may fit, or a take may have
 * settled.
 */
const KEEP_MS = 2 * SECOND
const MAX_OFFERS = 100_000

/** Offers whose daily cap had no room a moment ago. */
export type SpentCaps = {
  isSpent(offer: string, now: number): boolean
  /** The used and held amount of such an offer when it refused; undefined when it is not known. */
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
