import type { BillClass } from './billed-class.ts'

/** Likely causes of a difference between a bill and the list. `none` means no difference, `unknown` no known cause. */
export const DRIFT_CAUSES = [
  'none',
  'rounding',
  'day_not_over',
  'not_billed',
  'failed_calls',
  'key_used_elsewhere',
  'unpaid_calls',
  'searches',
  'cache_writes',
  'price_moved',
  'context_tier',
  'region',
  'flex_or_batch',
  'unknown',
] as const
export type DriftCause = (typeof DRIFT_CAUSES)[number]

/** Figures of one row. Costs are pico-USD. */
export type DriftFacts = {
  readonly billedClass: BillClass
  readonly billed: bigint
  readonly list: bigint
  readonly calls: number
  /** Calls without any cost, a part of `calls`. */
  readonly unpaid: number
  /** Attempts at the seller's offers that failed. A provider may bill them. */
  readonly failed: number
  /** True for a day that is not over, for which both sides are incomplete. */
  readonly isOpen: boolean
  /** Versions of the model's prices among the calls. */
  readonly priceVersions: number
}

/** Half a cent: bills have lines of whole cents. */
const ROUNDING_PICO = 5_000_000_000n
/** A bill of so many times the list covers calls made elsewhere. */
const ELSEWHERE_TIMES = 3

type Rule = { readonly cause: DriftCause; readonly holds: (facts: DriftFacts, ratio: number) => boolean }

/** True for a bill between two multiples of the list. */
const between = (least: number, most: number) => (_facts: DriftFacts, ratio: number) => ratio >= least && ratio <= most

/** The rules in order: the first match names the cause. `ratio` is the bill in multiples of the list. */
const RULES: readonly Rule[] = [
  { cause: 'none', holds: ({ billed, list }) => billed === list },
  { cause: 'rounding', holds: ({ billed, list }) => apart(billed, list) <= ROUNDING_PICO || near(billed, list) },
  { cause: 'day_not_over', holds: ({ isOpen }) => isOpen },
  { cause: 'not_billed', holds: ({ billed }) => billed === 0n },
  { cause: 'searches', holds: ({ billedClass, billed, list }) => billedClass === 'searches' && billed > list },
  { cause: 'failed_calls', holds: ({ calls, failed }) => calls === 0 && failed > 0 },
  { cause: 'key_used_elsewhere', holds: ({ calls }) => calls === 0 },
  {
    cause: 'cache_writes',
    holds: ({ billedClass, billed, list }) => billedClass.startsWith('cache_write') && billed > list,
  },
  {
    cause: 'unpaid_calls',
    holds: ({ calls, unpaid }, ratio) =>
      unpaid > 0 && ratio > 1 && ratio <= (1.1 * calls) / Math.max(1, calls - unpaid),
  },
  {
    cause: 'failed_calls',
    holds: ({ calls, failed }, ratio) => failed > 0 && ratio > 1 && ratio <= (1.1 * (calls + failed)) / calls,
  },
  { cause: 'price_moved', holds: ({ priceVersions }) => priceVersions > 1 },
  { cause: 'context_tier', holds: between(1.9, 2.1) },
  { cause: 'context_tier', holds: between(1.4, 1.6) },
  { cause: 'region', holds: between(1.08, 1.12) },
  { cause: 'flex_or_batch', holds: between(0.45, 0.55) },
  { cause: 'unpaid_calls', holds: ({ unpaid }, ratio) => unpaid > 0 && ratio > 1 && ratio < ELSEWHERE_TIMES },
  { cause: 'key_used_elsewhere', holds: (_facts, ratio) => ratio >= ELSEWHERE_TIMES },
]

/** The likely cause of the difference of a row. */
export function likelyCause(facts: DriftFacts): DriftCause {
  const ratio = facts.list === 0n ? Number.POSITIVE_INFINITY : Number((facts.billed * 10_000n) / facts.list) / 10_000
  return RULES.find(({ holds }) => holds(facts, ratio))?.cause ?? 'unknown'
}

function apart(left: bigint, right: bigint): bigint {
  return left > right ? left - right : right - left
}

/** True within a thousandth. */
function near(billed: bigint, list: bigint): boolean {
  return apart(billed, list) * 1_000n <= list
}
