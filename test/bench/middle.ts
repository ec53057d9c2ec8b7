/** The median of some measurements, the upper of two middle ones. NaN when there is none. */
export function middle(values: readonly number[]): number {
  return [...values].sort((left, right) => left - right)[Math.floor(values.length / 2)] ?? Number.NaN
}

/** The value below which a part of some measurements, from 0 to 1, lies. NaN when there is none. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = [...values].sort((left, right) => left - right)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}
