/** The median of some measurements, the upper of two middle ones. NaN when there is none. */
export function middle(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}
