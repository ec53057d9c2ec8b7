/** The lower of two whole numbers of any unit. Branded amounts have `min` of `money.ts`. */
export function lowerBigint(left: bigint, right: bigint): bigint {
  return left < right ? left : right
}

/** The higher of two whole numbers. */
export function higherBigint(left: bigint, right: bigint): bigint {
  return left > right ? left : right
}
