const HOUR_MS = 3_600_000
const STEP_MS = { hour: HOUR_MS, day: 24 * HOUR_MS } as const
export type Interval = keyof typeof STEP_MS

/** Each bucket from the first row to the last, with its row. A bucket without a row is a time without calls. */
export function everyBucket<Row extends { readonly bucket: number }>(
  rows: readonly Row[],
  interval: Interval,
): readonly (readonly [bucket: number, row: Row | undefined])[] {
  const stepMs = STEP_MS[interval]
  const rowOfBucket = new Map(rows.map((row) => [row.bucket, row]))
  const [first, last] = [Math.min(...rowOfBucket.keys()), Math.max(...rowOfBucket.keys())]
  const length = rowOfBucket.size === 0 ? 0 : Math.round((last - first) / stepMs) + 1
  return Array.from({ length }, (_, at) => first + at * stepMs).map((bucket) => [bucket, rowOfBucket.get(bucket)])
}
