import type { AccountId } from '#shared/ids.ts'

/** The counters of an account beside what its calls come to, where the two differ; micro-USD. */
export type CounterGap = {
  readonly account: AccountId
  readonly heldMicro: bigint
  readonly heldByCallsMicro: bigint
  readonly unpostedMicro: bigint
  readonly unpostedByCallsMicro: bigint
}

/** Sums up the records of calls in the gate. Throws while Redis is away. */
export type GateAudit = {
  /** The accounts whose counters differ from their calls. Calls that begin or end meanwhile look like a difference. */
  counterGaps(): Promise<CounterGap[]>
}
