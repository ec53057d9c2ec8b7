import type { AccountId } from '#shared/ids.ts'

/** An account's counters beside the sums over its calls, where the two differ, in micro-USD. */
export type CounterGap = {
  readonly account: AccountId
  readonly heldMicro: bigint
  readonly heldByCallsMicro: bigint
  readonly unpostedMicro: bigint
  readonly unpostedByCallsMicro: bigint
}

/** Adds up the records of calls in the gate. Throws while Redis is away. */
export type GateAudit = {
  /**
   * The accounts whose counters differ from their calls. A call that begins or ends during the scan looks like a
   * difference.
   */
  counterGaps(): Promise<CounterGap[]>
}
