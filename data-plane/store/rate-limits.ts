import type { Redis } from 'ioredis'
import type { Clock } from '#shared/clock.ts'
import { MINUTE } from '#shared/clock.ts'
import { cacheKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'

/** Milliseconds between two exchanges of counts with the other processes. */
const SHARE_MS = 200
const MAX_SCOPES = 100_000

type Count = {
  window: number
  /** Calls of this process that are not in Redis yet; negative when more were taken back. */
  unshared: number
  /** Calls of all processes, as of the last exchange with Redis. */
  shared: number
  inFlight: number
}

/**
 * The limit of a caller and its use in the current minute, for the x-ratelimit headers. `resetAt` is in Unix seconds.
 */
export type RateStanding = { readonly limit: number; readonly remaining: number; readonly resetAt: number }

export type RateLimits = {
  /**
   * Counts one call that begins. Throws AppError `rate_limited` or `too_many_in_flight`. Otherwise {@link
   * RateLimits.leave} must be called once when the call ends.
   */
  enter(scope: string, perMinute: number, maxInFlight: number): RateStanding
  leave(scope: string): void
  /** Throws `rate_limited` for a caller that has used up its rate. Counts nothing. */
  refuseSpent(scope: string, perMinute: number): void
  /** Adds calls to a scope's count of this minute: for a large refused body, or a further attempt at an offer. */
  charge(scope: string, calls: number): void
  /** Takes back the count of a call of the current minute that we failed to serve. */
  giveBack(scope: string): void
  /** Reads a caller's figures without counting a call. */
  look(scope: string, perMinute: number): RateStanding & { readonly inFlight: number }
  /** Callers with a count now, and refused calls by limit. */
  figures(): RateFigures
  start(): void
  close(): void
}

export type RateFigures = { readonly callers: number; readonly overRate: number; readonly overInFlight: number }

/**
 * Counts calls by the minute without a round trip for each. Every process counts for itself and shares its count
 * several times a second. The sum can exceed the limit only by the calls that processes admit between two exchanges.
 */
export function createRateLimits({ redis, clock }: { redis: Redis; clock: Clock }): RateLimits {
  const counts = new Map<string, Count>()
  const dirty = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let overRate = 0
  let overInFlight = 0

  function countOf(scope: string, window: number): Count {
    let count = counts.get(scope)
    if (count === undefined) {
      if (counts.size >= MAX_SCOPES) dropIdle(counts, window)
      count = { window, unshared: 0, shared: 0, inFlight: 0 }
      counts.set(scope, count)
    } else if (count.window !== window) {
      Object.assign(count, { window, unshared: 0, shared: 0 })
    }
    return count
  }

  /** The count of a caller in this minute. Throws `rate_limited` for a caller that has used up its rate. */
  function unspent(scope: string, perMinute: number): Count {
    const now = clock.now()
    const count = countOf(scope, Math.floor(now / MINUTE))
    const spent = count.shared + count.unshared
    if (spent < perMinute) return count
    overRate++
    throw tooManyCalls({ spent, limit: perMinute, resetAt: endOf(count.window) }, now)
  }

  return {
    enter(scope, perMinute, maxInFlight) {
      const count = unspent(scope, perMinute)
      if (count.inFlight >= maxInFlight) {
        overInFlight++
        throw tooManyInFlight(count.inFlight, maxInFlight)
      }
      count.unshared++
      count.inFlight++
      dirty.add(scope)
      const remaining = perMinute - count.shared - count.unshared
      return { limit: perMinute, remaining, resetAt: endOf(count.window) }
    },
    refuseSpent(scope, perMinute) {
      unspent(scope, perMinute)
    },
    charge(scope, calls) {
      if (calls <= 0) return
      countOf(scope, Math.floor(clock.now() / MINUTE)).unshared += calls
      dirty.add(scope)
    },
    leave(scope) {
      const count = counts.get(scope)
      if (count !== undefined && count.inFlight > 0) count.inFlight--
    },
    giveBack(scope) {
      const count = counts.get(scope)
      if (count === undefined || count.window !== Math.floor(clock.now() / MINUTE)) return
      if (count.shared + count.unshared <= 0) return
      count.unshared--
      dirty.add(scope)
    },
    look(scope, perMinute) {
      const window = Math.floor(clock.now() / MINUTE)
      const count = counts.get(scope)
      const calls = count?.window === window ? count.shared + count.unshared : 0
      const remaining = Math.max(0, perMinute - calls)
      return { limit: perMinute, remaining, resetAt: endOf(window), inFlight: count?.inFlight ?? 0 }
    },
    figures: () => ({ callers: counts.size, overRate, overInFlight }),
    start() {
      timer = setInterval(() => void share(redis, counts, dirty).catch(() => undefined), SHARE_MS)
    },
    close: () => clearInterval(timer),
  }
}

/** The end of a window in Unix seconds. */
function endOf(window: number): number {
  return ((window + 1) * MINUTE) / 1_000
}

/** Reports this process's counts to Redis, and reads the counts of all processes. */
async function share(redis: Redis, counts: ReadonlyMap<string, Count>, dirty: Set<string>): Promise<void> {
  if (dirty.size === 0) return
  const pipeline = redis.pipeline()
  const changes: { count: Count; window: number; added: number }[] = []
  for (const scope of dirty) {
    const count = counts.get(scope)
    if (count === undefined || count.unshared === 0) continue
    const key = cacheKeys.rate(scope, count.window)
    pipeline.incrby(key, count.unshared).expire(key, 120)
    changes.push({ count, window: count.window, added: count.unshared })
    count.shared += count.unshared
    count.unshared = 0
  }
  dirty.clear()
  const answers = await pipeline.exec()
  for (const [at, { count, window }] of changes.entries()) {
    const total = answers?.[at * 2]?.[1]
    if (typeof total === 'number' && count.window === window) count.shared = Math.max(count.shared, total)
  }
}

function dropIdle(counts: Map<string, Count>, window: number): void {
  for (const [scope, count] of counts) if (count.inFlight === 0 && count.window !== window) counts.delete(scope)
}

type Spent = { readonly spent: number; readonly limit: number; readonly resetAt: number }

function tooManyCalls({ spent, limit, resetAt }: Spent, now: number): AppError {
  return new AppError('rate_limited', {
    detail: { limit_source: 'key_rate', limit_scope: 'key', limit, spent, resets_at: resetAt },
    retryAfterSeconds: resetAt - now / 1_000,
  })
}

function tooManyInFlight(inFlight: number, limit: number): AppError {
  return new AppError('too_many_in_flight', {
    detail: { limit_source: 'key_in_flight', limit_scope: 'key', limit, spent: inFlight, resets_at: null },
    retryAfterSeconds: 1,
  })
}
