import type { HealthRecord } from '#shared/contract/health-event.ts'

/** What the data plane knows about offers and the control plane only shows. */
export type OfferState = {
  /** Health by offer id; an offer without a record is healthy. Empty when the store is away. */
  health(offers: readonly string[]): Promise<ReadonlyMap<string, HealthRecord>>
  /** Micro-USD taken of each offer's daily cap today; an offer without takes is left out. */
  capTaken(offers: readonly string[]): Promise<ReadonlyMap<string, bigint>>
}
