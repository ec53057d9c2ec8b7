/** The lower of two whole numbers of any unit. Branded amounts have `min` of `money.ts`. */
export function lowerBigint(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}

/** The higher of two whole numbers. */
export function higherBigint(left: bigint, right: bigint): bigint {
  return left > right ? left : right
}

/** A whole number as JSON gives it. For prices, caps and counts, which are far below 2^53. */
export function jsonNumber(value: bigint | null): number | null {
  return value === null ? null : Number(value)
}
