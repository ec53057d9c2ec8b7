import type { KeptBps } from './money.ts'
import { keptBps } from './money.ts'

/** A discount of the door in percent, at most two decimals, as what is kept: 12.34 gives 8,766. */
export function percentToKept(discountPercent: number): KeptBps {
  const bps = Math.round(discountPercent * 100)
  if (!Number.isFinite(discountPercent) || Math.abs(bps / 100 - discountPercent) > 1e-9) {
    throw new RangeError('a discount has at most two decimals')
  }
  return keptBps(10_000 - bps)
}

/** The discount in percent that a kept share stands for: 8,766 gives 12.34. */
export function keptToPercent(kept: KeptBps): number {
  return (10_000 - Number(kept)) / 100
}

/** The strictest of several floors in whole percent; absent ones do not count, none gives undefined. */
export function strictestFloor(floors: readonly (number | undefined | null)[]): number | undefined {
  const given = floors.filter((floor): floor is number => typeof floor === 'number')
  return given.length === 0 ? undefined : Math.max(...given)
}

/** True when an offer that keeps this share is at least `floorPercent` off the reference price. */
export function meetsFloor(kept: KeptBps, floorPercent: number): boolean {
  return 10_000 - Number(kept) >= floorPercent * 100
}
