import type { CounterSubject } from '#control-plane/ports/gate/gate.ts'
import type { MicroUsd } from '#shared/money.ts'

/**
 * The amount that a key or a budget holds and has used in the present UTC day and month, at least the amount booked for
 * it. A budget counts months alone.
 */
export type KeyCounter = {
  readonly dayMicro: MicroUsd
  readonly monthMicro: MicroUsd
  /** The limit that refused a call in this day or month; null where none did. */
  readonly dayRefusal: MicroUsd | null
  readonly monthRefusal: MicroUsd | null
}

/** True for a limit that has refused a call. A limit that was raised since has not. */
export function hasRefused(limitMicro: bigint, refusal: MicroUsd | null): boolean {
  return refusal !== null && limitMicro <= refusal
}

/** Reads the counters of keys and budgets in the spending gate. */
export type KeyCounters = {
  /**
   * Returns one counter for each subject, in their order. `now` is Unix milliseconds. Throws while the gate is
   * away.
   */
  read(subjects: readonly CounterSubject[], now: number): Promise<KeyCounter[]>
}
