import type { InvariantFinding } from '#control-plane/ports/ledger/money-check.ts'

/** Numbers of items that wait for a person or for a sweep. */
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

/** Figures of the treasury. Null while the chain did not answer. */
export type TreasuryFigures = {
  readonly balanceMicro: bigint | null
  readonly gasWei: bigint | null
  readonly floorMicro: bigint
  /** Open transfers by state. */
  readonly open: readonly {
    readonly state: string
    readonly count: number
    readonly amount: bigint
    readonly oldestAt: Date
  }[]
}

/** A provider's cost above its list cost in percent, by sellers' bills or by the costs that answers state. */
export type GaugedDrift = { readonly provider: string; readonly source: 'bills' | 'answers'; readonly percent: number }

/** Shows the figures of the money path. */
export type MoneyMetrics = {
  /** Shows the findings of one checker run. `at` is Unix milliseconds. */
  invariants(findings: readonly InvariantFinding[], at: number): void
  /** Shows the number of differences that a comparison of this kind found. */
  findings(kind: string, count: number): void
  /** Shows the drift of these providers only. */
  drift(rows: readonly GaugedDrift[]): void
  backlog(backlog: MoneyBacklog): void
  /** Shows the settlement key's money for gas in wei. */
  gasMoney(wei: bigint): void
  treasury(figures: TreasuryFigures): void
  /** Counts the items that a sweep finished. */
  swept(what: 'expired' | 'posted' | 'told' | 'debits' | 'jobs', count: number): void
}
