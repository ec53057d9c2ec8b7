import type { SellerYieldQuery } from '#control-plane/dashboard/data/documents/seller-yield.ts'
import { toMicro } from '#control-plane/dashboard/data/format.ts'

export type ShownDemandStep = NonNullable<SellerYieldQuery['demand']>['steps'][number]

/** The calls of the last day for which an offer at a discount would have ranked first. */
export type Reach = {
  readonly discountPct: number
  readonly calls: number
  /** Paid for those calls at that discount, before the fee of the market. */
  readonly worthMicro: bigint
  /** Calls that went to larger discounts all the same. */
  readonly past: number
}

const BPS = 10_000n

/** Calls that were served at less than a discount would have come to it, at its own price. */
export function reachOf(steps: readonly ShownDemandStep[], discountPct: number): Reach {
  const below = steps.filter((step) => step.discountPct < discountPct)
  const list = below.reduce((sum, { listMicro }) => sum + toMicro(listMicro), 0n)
  const keptShare = BPS - BigInt(Math.round(discountPct * 100))
  const calls = below.reduce((sum, step) => sum + step.calls, 0)
  const all = steps.reduce((sum, step) => sum + step.calls, 0)
  return { discountPct, calls, worthMicro: (list * keptShare) / BPS, past: all - calls }
}

const MAX_PCT = 95

/** The discounts at which the reach changes: one more than each step that was served, and the seller's own. */
export function curveOf(steps: readonly ShownDemandStep[], own: number): readonly Reach[] {
  const turns = steps.map(({ discountPct }) => Math.min(discountPct + 1, MAX_PCT))
  return [...new Set([...turns, own])].sort((a, b) => a - b).map((discountPct) => reachOf(steps, discountPct))
}

const DAY_MS = 24 * 60 * 60 * 1_000

/** The share of the UTC day that is left. */
export function dayLeft(now: number): number {
  return 1 - (now % DAY_MS) / DAY_MS
}

/** A share of an amount, rounded down. */
export function shareOf(micro: bigint, share: number): bigint {
  return (micro * BigInt(Math.round(share * 10_000))) / BPS
}
