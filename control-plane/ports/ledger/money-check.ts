/** What the independent checker found out about one invariant; `none` says that there is nothing to check yet. */
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

/** Runs the checker over ledger, gate and the journals that can be reached. Throws when one of them cannot be read. */
export type MoneyCheck = () => Promise<MoneyReport>
