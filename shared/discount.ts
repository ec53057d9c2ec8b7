import type { KeptBps } from './money.ts'
import { keptBps } from './money.ts'

/** Converts a discount in percent, with at most two decimals, to the kept share in basis points: 12.34 gives 8,766. */
export function percentToKept(discountPercent: number): KeptBps {
  const bps = Math.round(discountPercent * 100)
  if (!Number.isFinite(discountPercent) || Math.abs(bps / 100 - discountPercent) > 1e-9) {
    throw new RangeError('a discount must have at most two decimals')
  }
  return keptBps(10_000 - bps)
}

/** Converts a kept share to the discount in percent: 8,766 gives 12.34. */
export function keptToPercent(keptBps: KeptBps): number {
  return (10_000 - Number(keptBps)) / 100
}

/** Converts a kept share to the discount as a fraction: 8,766 gives 0.1234. */
export function keptToFraction(keptBps: KeptBps): number {
  return (10_000 - Number(keptBps)) / 10_000
}

/** The strictest of several floors in whole percent. Absent floors do not count. Undefined when there is none. */
export function strictestFloor(floors: readonly (number | undefined | null)[]): number | undefined {
  const givenFloors = floors.filter((floor): floor is number => typeof floor === 'number')
  return givenFloors.length === 0 ? undefined : Math.max(...givenFloors)
}

/** True when an offer that keeps this share is at least `floorPercent` cheaper than the reference price. */
export function meetsFloor(keptBps: KeptBps, floorPercent: number): boolean {
  return 10_000 - Number(keptBps) >= floorPercent * 100
}
