import { nextUtcDay, SECOND } from '#shared/clock.ts'
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
  /** The last refusal of such an offer. */
  refusalOf(offer: string): CapRefusal | undefined
  /** `askedAt` is an instant before the request: the refusal may arrive on the next day, whose cap is full. */
  mark(offer: string, askedAt: number, usedMicro?: MicroUsd): void
}

export type CapRefusal = {
  /** The used and held amount of the day; undefined when unknown. */
  readonly usedMicro: MicroUsd | undefined
  /** The end of the UTC day whose cap refused, in Unix milliseconds. */
  readonly resetsAt: number
}

type Mark = CapRefusal & { readonly until: number }

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
    refusalOf: (offer) => marks.get(offer),
    mark(offer, askedAt, usedMicro) {
      if (marks.size >= MAX_OFFERS) marks.clear()
      const resetsAt = nextUtcDay(askedAt)
      marks.set(offer, { until: Math.min(askedAt + KEEP_MS, resetsAt), usedMicro, resetsAt })
    },
  }
}
