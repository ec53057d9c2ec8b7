export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS
const STEP_MS = { hour: HOUR_MS, day: DAY_MS } as const
/** The most buckets before and after a period that are shown, if they have rows. More buckets would delay the chart. */
const MAX_BEYOND = 48
export type Interval = keyof typeof STEP_MS

/** The period of a chart, in Unix milliseconds. */
export type Span = { readonly from: number; readonly to: number }

/** The span that ends now: of hours for at most a day, of UTC days for longer, each with the running one. */
export function lastSpan(ms: number): Span {
  const to = Date.now()
  const stepMs = STEP_MS[ms > DAY_MS ? 'day' : 'hour']
  return { from: (Math.floor(to / stepMs) + 1) * stepMs - ms, to }
}

/**
 * Each bucket that begins in a period with its row, and those just before and after it that have rows. A bucket without
 * a row is a time without calls. The list is empty if there is no row at all.
 */
export function everyBucket<Row extends { readonly bucket: number }>(
  rows: readonly Row[],
  interval: Interval,
  span: Span,
): readonly (readonly [bucket: number, row: Row | undefined])[] {
  if (rows.length === 0) return []
  const stepMs = STEP_MS[interval]
  const ofBucket = new Map(rows.map((row) => [row.bucket, row]))
  const bucketOf = (at: number) => Math.floor(at / stepMs) * stepMs
  const [start, end] = [Math.ceil(span.from / stepMs) * stepMs, bucketOf(span.to)]
  const isNear = (bucket: number) => Math.max(start - bucket, bucket - end) <= MAX_BEYOND * stepMs
  // Rows of another period are still shown while those of this one are read.
  const near = [...ofBucket.keys()].filter(isNear)
  const first = Math.min(start, ...near)
  const last = Math.max(end, ...near)
  const length = Math.round((last - first) / stepMs) + 1
  return Array.from({ length }, (_, at) => first + at * stepMs).map((bucket) => [bucket, ofBucket.get(bucket)])
}
