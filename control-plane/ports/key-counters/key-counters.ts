import type { CountedKey } from '#control-plane/ports/gate/gate.ts'
import type { MicroUsd } from '#shared/money.ts'

/**
 * The amount that a key holds and has used in the present UTC day and month, at least the amount booked for it. A day
 * or a month is full once its cap has refused a call and the remainder is still too little for that call.
 */
export type KeyCounter = {
  readonly dayMicro: MicroUsd
  readonly monthMicro: MicroUsd
  readonly isDayFull: boolean
  readonly isMonthFull: boolean
}

/** Reads the counters of keys in the spending gate. */
export type KeyCounters = {
  /**
   * Returns one counter for each key, in the order of the keys. `now` is Unix milliseconds. Throws while the gate is
   * away.
   */
  read(keys: readonly CountedKey[], now: number): Promise<KeyCounter[]>
}
