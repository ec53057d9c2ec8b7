import type { Random } from '#test/sim/time/random.ts'

/**
 * Failures of a provider that has received a call on a lent key. `reset`: its connection breaks before the answer.
 * `told`: the answer is whole and has a success status, but its text reports a failure.
 */
export const RELAY_FAILURES = ['reset', 'server_error', 'rate_limited', 'rejected', 'told'] as const
export type RelayFailure = (typeof RELAY_FAILURES)[number]

/** The course of one call on a lent key, drawn before the call begins. */
export type RelayPlan = {
  readonly buyer: number
  /**
   * `draw`: JSON, which is held until its end. `video`: bytes that go out as they arrive, with the price in the head.
   */
  readonly route: 'draw' | 'film'
  /** Number of requested pictures. */
  readonly ordered: number
  /**
   * Number of pictures that the answer reports, which may be higher than requested. Undefined for an unreadable answer.
   */
  readonly reported: number | undefined
  /** Number of keys that cannot be reached at first, before any byte of the call is sent. */
  readonly refusals: number
  readonly failure: RelayFailure | undefined
  /** The pieces of the answer, and the milliseconds between two of them. */
  readonly pieces: number
  readonly paceMs: number
  /** `cut`: the provider breaks off before the last piece. `cancelled`: the buyer disconnects after the first piece. */
  readonly ending: 'done' | 'cut' | 'cancelled'
  readonly stallMs: number
}

export function relayPlan(random: Random): RelayPlan {
  const ordered = random.between(1, 6)
  return {
    buyer: random.chance(0.6) ? random.between(0, 1) : random.between(0, 4),
    route: random.pick(['draw', 'film']),
    ordered,
    reported: random.chance(0.85) ? random.between(0, ordered + 2) : undefined,
    refusals: random.chance(0.2) ? random.between(1, 2) : 0,
    failure: random.chance(0.2) ? random.pick(RELAY_FAILURES) : undefined,
    pieces: random.between(2, 5),
    paceMs: random.chance(0.1) ? random.between(500, 4_000) : random.between(1, 120),
    ending: random.pick(['done', 'done', 'done', 'cut', 'cancelled']),
    stallMs: random.chance(0.05) ? random.between(1, 5_000) : 0,
  }
}
