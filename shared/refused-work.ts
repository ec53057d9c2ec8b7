import type { Clock } from './clock.ts'
import { MINUTE, SECOND } from './clock.ts'
import { AppError } from './errors.ts'

/**
 * The cost of refused work, in units of about a millisecond of processor time. Each kind of work that strangers can
 * cause has a row here.
 */
export const WORK_UNITS = {
  /** A refusal that read no more than the head of a request, or a small body: an unknown path, a bad key, a price. */
  refusal: 1,
  /** Each of these bytes of a refused body, see {@link unitsOfBody}. */
  bodyBytes: 16_384,
  /** A GraphQL document that was parsed or validated and then refused, and each kilobyte of it. */
  document: 2,
  documentKilobyte: 2,
  /** The check of an invalid payment: signatures, and requests to the control plane and the chain. */
  payment: 25,
} as const

/** The most names that are counted at once. A further one replaces the oldest. */
const MAX_NAMES = 100_000

/**
 * The account of wasted work: requests that were refused, and prices that were not paid. It is charged to the network
 * address of a stranger (see networkOf), or to the name of a valid credential. A name that has caused more than
 * `perMinute` units in a minute is refused further work with `rate_limited` in advance.
 *
 * A place charges its work in steps:
 * 1. Before the work, it calls `refuseSpent(who)` for a stranger. A caller with a valid key is never refused for the
 * address, because many callers share one.
 * 2. When the work was wasted, it calls `charge(who, units)` with a row of {@link WORK_UNITS}, and throws or sends the
 * returned error, if there is one, in place of its own refusal.
 *
 * On the data plane, calls and jobs do both in one place: `enter` and `settleRefusal` of pipeline/entrance.ts. On the
 * control plane, api/strangers.ts does both for every door.
 *
 * Each process counts for itself, because the bound is on its own processor time. Nothing goes over the network.
 */
export type RefusedWork = {
  /** Throws `rate_limited` for a name that has used up the minute's work. Charges nothing. */
  refuseSpent(who: string): void
  /** Charges work that was done. Returns `rate_limited` for a name that had already used up the minute's work. */
  charge(who: string, units: number): AppError | undefined
  /** Takes back units that were charged in advance for work that was not wasted. */
  giveBack(who: string, units: number): void
  /** Names that have caused work in this minute, and refusals for used-up work since the start. */
  figures(): { readonly names: number; readonly refused: number }
}

type Parts = {
  readonly clock: Pick<Clock, 'now'>
  readonly perMinute: number
  /** Milliseconds of a unit of `resets_at`: the paths of /v1 use seconds, the control plane milliseconds. */
  readonly resetUnitMs: number
}

/** The limit that refuses, with the names of every refusal by a limit. */
const SPENT = { limit_source: 'address_work', limit_scope: 'address' }

export function createRefusedWork({ clock, perMinute, resetUnitMs }: Parts): RefusedWork {
  const unitsOf = new Map<string, number>()
  let window = 0
  let refusals = 0

  function spentBy(who: string, now: number): number {
    const current = Math.floor(now / MINUTE)
    if (current !== window) {
      unitsOf.clear()
      window = current
    }
    return unitsOf.get(who) ?? 0
  }

  function refusal(units: number, now: number): AppError {
    refusals++
    const resetsAt = (window + 1) * MINUTE
    return new AppError('rate_limited', {
      message: 'Too many requests without a key or a good payment came from this address.',
      detail: { ...SPENT, limit: perMinute, spent: units, resets_at: resetsAt / resetUnitMs },
      retryAfterSeconds: Math.max(1, Math.ceil((resetsAt - now) / SECOND)),
    })
  }

  return {
    refuseSpent(who) {
      const now = clock.now()
      const units = spentBy(who, now)
      if (units >= perMinute) throw refusal(units, now)
    },
    charge(who, units) {
      const now = clock.now()
      const before = spentBy(who, now)
      if (before === 0 && unitsOf.size >= MAX_NAMES) {
        const [first] = unitsOf.keys()
        if (first !== undefined) unitsOf.delete(first)
      }
      unitsOf.set(who, before + units)
      return before >= perMinute ? refusal(before, now) : undefined
    },
    giveBack(who, units) {
      const before = spentBy(who, clock.now())
      if (before > 0) unitsOf.set(who, Math.max(0, before - units))
    },
    figures: () => ({ names: unitsOf.size, refused: refusals }),
  }
}

/** The units of a refusal whose body was read. */
export function unitsOfBody(bytes: number): number {
  return WORK_UNITS.refusal + Math.floor(bytes / WORK_UNITS.bodyBytes)
}

/** The units of a GraphQL document that was parsed and then refused. */
export function unitsOfDocument(bytes: number): number {
  return WORK_UNITS.document + WORK_UNITS.documentKilobyte * Math.floor(bytes / 1_024)
}
