import type { Interval, Span } from '#control-plane/dashboard/charts/every-bucket.ts'
import { DAY_MS, everyBucket, HOUR_MS } from '#control-plane/dashboard/charts/every-bucket.ts'
import type { Series } from '#control-plane/dashboard/charts/series.ts'
import type { BuyerActivityQuery } from '#control-plane/dashboard/data/documents/buyer-activity.ts'
import { compact, money } from '#control-plane/dashboard/data/format.ts'

export type Bucket = NonNullable<BuyerActivityQuery['usageBuckets']>[number]
/** The members of a bucket that figures are read from. */
type Summed = NonNullable<BuyerActivityQuery['hours']>[number]
type Figure = { readonly label: string; read(bucket: Summed): number; format(value: number): string }

/** Figures of the time chart. Each is a sum, so a bucket without a call is zero. */
export const FIGURES = {
  spent: { label: 'Spent', read: ({ buyerCostMicro }) => buyerCostMicro, format: money },
  saved: { label: 'Saved', read: savedOf, format: money },
  calls: { label: 'Calls', read: ({ requests }) => requests, format: compact },
  failed: { label: 'Failed calls', read: ({ failedRequests }) => failedRequests, format: compact },
  input: { label: 'Tokens in', read: ({ inputTokens }) => inputTokens, format: compact },
  output: { label: 'Tokens out', read: ({ outputTokens }) => outputTokens, format: compact },
  cached: { label: 'Tokens from caches', read: ({ cacheReadTokens }) => cacheReadTokens, format: compact },
} satisfies Record<string, Figure>
export type FigureName = keyof typeof FIGURES

export function savedOf({ listCostMicro, buyerCostMicro }: Summed): number {
  return Math.max(0, listCostMicro - buyerCostMicro)
}

/** The key of the sum of all groups that the market does not list. No group has this name. */
export const REST = '\u0000rest'

/** The key of a bucket's group: '' for calls that no provider served. */
function keyOf({ group, isRest }: Bucket): string {
  return isRest ? REST : (group ?? '')
}

/** Most buckets of an answer, and most groups with buckets of their own. */
const [MAX_BUCKETS, MAX_TOP] = [5_000, 100]

/** The number of groups with buckets of their own, so that an answer over this time has all of its buckets. */
export function topOf(interval: Interval, spanMs: number): number {
  // A window that does not begin with an interval touches one more.
  const intervals = Math.ceil(spanMs / (interval === 'hour' ? HOUR_MS : DAY_MS)) + 1
  return Math.min(MAX_TOP, Math.floor(MAX_BUCKETS / intervals) - 1)
}

/** Groups with a line of their own. All others share one more line. */
const MAX_GROUPS = 5
export const OTHER = 'Other'

/** Every bucket of the period. */
export function timesOf(buckets: readonly Bucket[], interval: Interval, span: Span): readonly number[] {
  return everyBucket(buckets, interval, span).map(([bucket]) => bucket)
}

type FigureChoice = {
  readonly figure: FigureName
  readonly isCumulative: boolean
  /** The name of a group as a reader knows it. */
  readonly nameOf: (group: string) => string
}

/** A series for each of the largest groups, and one for all others together. */
export function seriesOf(
  buckets: readonly Bucket[],
  times: readonly number[],
  { figure, isCumulative, nameOf }: FigureChoice,
): readonly Series[] {
  const { read } = FIGURES[figure]
  const totals = new Map<string, number>()
  for (const bucket of buckets) totals.set(keyOf(bucket), (totals.get(keyOf(bucket)) ?? 0) + read(bucket))
  const hasRest = totals.delete(REST)
  const ranked = [...totals].sort(([, a], [, b]) => b - a).map(([group]) => group)
  const own = ranked.slice(0, MAX_GROUPS)
  const namedGroups = own.map((group) => ({
    name: nameOf(group),
    holds: (bucket: Bucket) => keyOf(bucket) === group,
  }))
  const rest = { name: OTHER, holds: (bucket: Bucket) => !own.includes(keyOf(bucket)) }
  return [...namedGroups, ...(hasRest || ranked.length > MAX_GROUPS ? [rest] : [])].map(({ name, holds }) => {
    const sums = new Map<number, number>()
    for (const bucket of buckets.filter(holds)) sums.set(bucket.bucket, (sums.get(bucket.bucket) ?? 0) + read(bucket))
    return { name, values: valuesAt(times, sums, isCumulative) }
  })
}

/** The name of the line of the period before. */
const FORMER = 'Previous period'

/**
 * The sums of the period before at the times of this one, all groups together. `lengthMs` is the time between the
 * two.
 */
export function formerSeriesOf(
  buckets: readonly Bucket[],
  times: readonly number[],
  { figure, isCumulative, lengthMs }: Omit<FigureChoice, 'nameOf'> & { readonly lengthMs: number },
): Series {
  const { read } = FIGURES[figure]
  const sums = new Map<number, number>()
  for (const bucket of buckets) {
    const at = bucket.bucket + lengthMs
    sums.set(at, (sums.get(at) ?? 0) + read(bucket))
  }
  return { name: FORMER, isFormer: true, values: valuesAt(times, sums, isCumulative) }
}

/** The sum at each time, or of all times up to each. */
function valuesAt(
  times: readonly number[],
  sums: ReadonlyMap<number, number>,
  isCumulative: boolean,
): readonly number[] {
  let before = 0
  return times.map((time) => {
    const value = sums.get(time) ?? 0
    before += value
    return isCumulative ? before : value
  })
}

export type GroupSum = {
  readonly group: string
  readonly calls: number
  readonly failed: number
  readonly spent: number
  readonly saved: number
  readonly input: number
  readonly output: number
  readonly tokens: number
}

/** A group without a call. */
export function noSum(group: string): GroupSum {
  return { group, calls: 0, failed: 0, spent: 0, saved: 0, input: 0, output: 0, tokens: 0 }
}

function withBucket(sum: GroupSum, bucket: Bucket): GroupSum {
  return {
    group: sum.group,
    calls: sum.calls + bucket.requests,
    failed: sum.failed + bucket.failedRequests,
    spent: sum.spent + bucket.buyerCostMicro,
    saved: sum.saved + savedOf(bucket),
    input: sum.input + bucket.inputTokens,
    output: sum.output + bucket.outputTokens,
    tokens: sum.tokens + bucket.inputTokens + bucket.outputTokens,
  }
}

/** The sum of all groups. */
export function totalOf(buckets: readonly Bucket[]): GroupSum {
  return buckets.reduce(withBucket, noSum(''))
}

/** The sums of each group by its name. */
export function sumByGroup(buckets: readonly Bucket[]): ReadonlyMap<string, GroupSum> {
  const sums = new Map<string, GroupSum>()
  for (const bucket of buckets) {
    const group = keyOf(bucket)
    sums.set(group, withBucket(sums.get(group) ?? noSum(group), bucket))
  }
  return sums
}

/**
 * The sums of each group, the highest spending first and the rest last. Groups of the period before alone have no
 * calls.
 */
export function sumsOf(buckets: readonly Bucket[], before: Iterable<string> = []): readonly GroupSum[] {
  const sums = sumByGroup(buckets)
  const gone = [...before].filter((group) => !sums.has(group)).map(noSum)
  return [...sums.values(), ...gone].sort(
    (a, b) => Number(a.group === REST) - Number(b.group === REST) || b.spent - a.spent || b.calls - a.calls,
  )
}
