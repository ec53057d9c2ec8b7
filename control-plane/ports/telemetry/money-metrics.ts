import type { InvariantFinding } from '#control-plane/ports/ledger/money-check.ts'

/** What waits for a person, or for a sweep. */
export type MoneyBacklog = {
  readonly poisoned: number
  readonly conflicts: number
  readonly unfinishedDebits: number
  readonly parkedEnds: number
  readonly payoutHolds: number
  /** Micro-USD that the platform could not collect. */
  readonly shortfallMicro: bigint
}

/** Where the figures of the money path are shown. */
export type MoneyMetrics = {
  /** The result of a run of the checker; `at` in Unix milliseconds. */
  invariants(findings: readonly InvariantFinding[], at: number): void
  /** How many things of a kind a comparison found to differ. */
  findings(kind: string, count: number): void
  backlog(backlog: MoneyBacklog): void
  /** What a sweep had to do. */
  swept(what: 'expired' | 'posted' | 'told' | 'debits' | 'jobs', count: number): void
}
