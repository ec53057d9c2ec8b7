/** The independent checker's finding about one invariant. `none` means that there is nothing to check yet. */
export type InvariantFinding = {
  readonly id: string
  readonly state: 'ok' | 'breach' | 'none'
  readonly detail: string
}

export type MoneyReport = {
  readonly findings: readonly InvariantFinding[]
  /** Events that wait for a person. */
  readonly poisoned: number
  readonly conflicts: number
}

/** Runs the checker over the ledger, the gate and the reachable journals. Throws when one of them cannot be read. */
export type MoneyCheck = () => Promise<MoneyReport>
