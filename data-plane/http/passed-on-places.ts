import { AppError } from '#shared/errors.ts'
import { createShares } from '#shared/shares.ts'
import { overloaded } from './admission.ts'

/**
 * Kinds of requests that are passed on. A stream is open for as long as its reader likes, a call until it is answered.
 */
export type PassedOnKind = 'call' | 'stream'

/** Requests that may be passed on at once, for one address and in all. Each kind has places of its own. */
export const PASS_ON_LIMITS: Readonly<Record<PassedOnKind, { readonly perAddress: number; readonly inAll: number }>> = {
  call: { perAddress: 128, inAll: 512 },
  stream: { perAddress: 200, inAll: 5_000 },
}

/** The places of passed-on requests. */
export type PassedOnPlaces = {
  /**
   * Takes a place; the returned function gives it back, once. Throws `too_many_in_flight` for an address with too many,
   * and `overloaded` when all places are taken.
   */
  enter(kind: PassedOnKind, address: string): () => void
}

export function createPassedOnPlaces(): PassedOnPlaces {
  const shares = { call: createShares(PASS_ON_LIMITS.call.inAll), stream: createShares(PASS_ON_LIMITS.stream.inAll) }
  return {
    enter(kind, address) {
      const { perAddress } = PASS_ON_LIMITS[kind]
      const leave = shares[kind].take(address, perAddress)
      if (leave === 'name') throw tooMany(kind, perAddress)
      if (leave === 'all') throw overloaded('passed_on')
      return leave
    },
  }
}

function tooMany(kind: PassedOnKind, limit: number): AppError {
  const what = kind === 'call' ? 'requests' : 'streams'
  return new AppError('too_many_in_flight', {
    message: `At most ${limit} ${what} of one address may be open here.`,
    detail: { limit_source: 'address', limit_scope: 'address', limit, resets_at: null },
    retryAfterSeconds: 1,
  })
}
