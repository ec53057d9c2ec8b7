import type { CountedKey } from '#control-plane/ports/gate/gate.ts'
import type { MicroUsd } from '#shared/money.ts'

/**
 * What a key has held and used in the UTC day and month that count now: at least what is booked of it. It is full once
 * its cap has refused a call, with what is left too little for it.
 */
export type KeyCounter = {
  readonly dayMicro: MicroUsd
  readonly monthMicro: MicroUsd
  readonly isDayFull: boolean
  readonly isMonthFull: boolean
}

/** Reads the counters of keys as the spending gate has them. */
export type KeyCounters = {
  /** One counter for each key, in their order. `now` is Unix milliseconds. Throws while the gate is away. */
  read(keys: readonly CountedKey[], now: number): Promise<KeyCounter[]>
}
