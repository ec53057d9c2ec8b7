import { DAY_MS } from '#control-plane/dashboard/charts/every-bucket.ts'

const PARTS = 10_000

/** The share of the UTC day that is left at a moment in Unix milliseconds, from 0 to 1. */
export function dayLeft(now: number): number {
  return 1 - (now % DAY_MS) / DAY_MS
}

/** A share (0 to 1) of an amount in micro-USD, rounded down. */
export function shareOf(micro: number, share: number): number {
  return Math.floor((micro * Math.round(share * PARTS)) / PARTS)
}
