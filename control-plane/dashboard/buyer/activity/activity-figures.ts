import type { Interval, Span } from '#control-plane/dashboard/charts/every-bucket.ts'
import { everyBucket } from '#control-plane/dashboard/charts/every-bucket.ts'
import type { Series } from '#control-plane/dashboard/charts/time-chart.tsx'
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
  for (const bucket of buckets) totals.set(bucket.group ?? '', (totals.get(bucket.group ?? '') ?? 0) + read(bucket))
  const ranked = [...totals].sort(([, a], [, b]) => b - a).map(([group]) => group)
  const own = ranked.slice(0, MAX_GROUPS)
  const namedGroups = own.map((group) => ({
    name: nameOf(group),
    holds: (bucket: Bucket) => (bucket.group ?? '') === group,
  }))
  const rest = { name: OTHER, holds: (bucket: Bucket) => !own.includes(bucket.group ?? '') }
  return [...namedGroups, ...(ranked.length > MAX_GROUPS ? [rest] : [])].map(({ name, holds }) => {
    const sums = new Map<number, number>()
    for (const bucket of buckets.filter(holds)) sums.set(bucket.bucket, (sums.get(bucket.bucket) ?? 0) + read(bucket))
    let before = 0
    const values = times.map((time) => {
      const value = sums.get(time) ?? 0
      before += value
      return isCumulative ? before : value
    })
    return { name, values }
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
}

/** The sums of each group, the most expensive first. */
export function sumsOf(buckets: readonly Bucket[]): readonly GroupSum[] {
  const sums = new Map<string, GroupSum>()
  for (const bucket of buckets) {
    const group = bucket.group ?? ''
    const now = sums.get(group)
    sums.set(group, {
      group,
      calls: (now?.calls ?? 0) + bucket.requests,
      failed: (now?.failed ?? 0) + bucket.failedRequests,
      spent: (now?.spent ?? 0) + bucket.buyerCostMicro,
      saved: (now?.saved ?? 0) + savedOf(bucket),
      input: (now?.input ?? 0) + bucket.inputTokens,
      output: (now?.output ?? 0) + bucket.outputTokens,
    })
  }
  return [...sums.values()].sort((a, b) => b.spent - a.spent || b.calls - a.calls)
}
