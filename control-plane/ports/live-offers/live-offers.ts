import type { HealthRecord } from '#shared/contract/health-event.ts'

/** What the data plane knows about offers: the control plane shows it, and may overrule it. */
export type LiveOffers = {
  /** Health by offer id, of those named or of all; one without a record is healthy. Empty when the store is away. */
  health(offers?: readonly string[]): Promise<ReadonlyMap<string, HealthRecord>>
  /** Micro-USD taken of each offer's daily cap today; an offer without takes is left out. */
  capTaken(offers: readonly string[]): Promise<ReadonlyMap<string, bigint>>
  /** Returns offers to the rotation, in every data-plane process, with nothing held against them. Throws when away. */
  reset(offers: readonly string[]): Promise<void>
  /** Holds something against offers, in every data-plane process. Throws when the store is away. */
  setHealth(records: ReadonlyMap<string, HealthRecord>): Promise<void>
}
