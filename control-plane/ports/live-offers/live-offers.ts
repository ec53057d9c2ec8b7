import type { HealthRecord } from '#shared/contract/health-event.ts'
import type { LentRule } from '#shared/contract/lent-offers.ts'

/** Calls that a rule of a lent key refused, with the cost that they would have had in micro-USD. */
export type RefusedDemand = {
  readonly offer: string
  readonly rule: LentRule
  readonly calls: bigint
  readonly quotedMicro: bigint
}

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
   * Demand that the rules of lent keys refused on UTC days, by offer and rule. Empty when the store is away.
   */
  refusals(offers: readonly string[], days: readonly string[]): Promise<readonly RefusedDemand[]>
  /**
   * Returns offers to the rotation in every data plane and clears their health record. Throws when the store is away.
   */
  reset(offers: readonly string[]): Promise<void>
  /** Sets health records of offers for every data plane. Throws when the store is away. */
  setHealth(records: ReadonlyMap<string, HealthRecord>): Promise<void>
}
