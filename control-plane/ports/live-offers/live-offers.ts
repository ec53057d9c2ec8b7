import type { HealthRecord } from '#shared/contract/health-event.ts'

/** The data plane's live state of offers. The control plane shows it and may change it. */
export type LiveOffers = {
  /**
   * Health of the given offers, or of all, by offer id. An offer without a record is healthy. Empty when the store is
   * away.
   */
  health(offers?: readonly string[]): Promise<ReadonlyMap<string, HealthRecord>>
  /** Micro-USD taken from each offer's daily cap today. An offer without takes is left out. */
  capTaken(offers: readonly string[]): Promise<ReadonlyMap<string, bigint>>
  /**
   * Returns offers to the rotation in every data plane and clears their health record. Throws when the store is away.
   */
  reset(offers: readonly string[]): Promise<void>
  /** Sets health records of offers for every data plane. Throws when the store is away. */
  setHealth(records: ReadonlyMap<string, HealthRecord>): Promise<void>
}
