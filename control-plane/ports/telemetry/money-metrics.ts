import type { InvariantFinding } from '#control-plane/ports/ledger/money-check.ts'

/** Numbers of things that wait for a person or for a sweep. */
export type MoneyBacklog = {
  readonly poisoned: number
  readonly conflicts: number
  readonly unfinishedDebits: number
  readonly parkedEnds: number
  readonly payoutHolds: number
  readonly hangingPayments: number
  readonly debtors: number
  /** Micro-USD that the platform could not collect. */
  readonly shortfallMicro: bigint
}

/** Shows the figures of the money path. */
export type MoneyMetrics = {
  /** Shows the findings of one checker run. `at` is Unix milliseconds. */
  invariants(findings: readonly InvariantFinding[], at: number): void
  /** Shows the number of differences that a comparison of this kind found. */
  findings(kind: string, count: number): void
  backlog(backlog: MoneyBacklog): void
  /** Shows the settlement key's money for gas in wei. */
  gasMoney(wei: bigint): void
  /** Counts the things that a sweep finished. */
  swept(what: 'expired' | 'posted' | 'told' | 'debits' | 'jobs', count: number): void
}
