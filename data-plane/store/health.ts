import type { Redis } from 'ioredis'
import type { Clock } from '#shared/clock.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { ErrorClass, HealthEvent } from '#shared/contract/health-event.ts'
import { HealthRecordSchema } from '#shared/contract/health-event.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import type { Ids, RequestId } from '#shared/ids.ts'
import type { Offer } from '../call.ts'
import type { Subscriptions } from './subscriptions.ts'

/** Failures in a row that back an offer off. */
const CONSECUTIVE_LIMIT = 5
/** Or this share of at least so many calls in a window. */
const WINDOW_MS = 30 * SECOND
const WINDOW_MIN_CALLS = 20
const WINDOW_FAILED_SHARE = 0.5
const BACK_OFF_STEP_MS = 30 * SECOND
const MAX_BACK_OFF_MS = 10 * MINUTE
/** A probe that never reported back does not keep its offer shut for longer. */
const PROBE_LEASE_MS = 60 * SECOND
const POLL_MS = 10 * SECOND
/** Classes that back off at the first failure: the next call would end the same way. */
const AT_ONCE: ReadonlySet<ErrorClass> = new Set(['credential_rejected', 'not_found', 'rate_limited'])

type State = {
  consecutiveFailures: number
  ejections: number
  backedOffUntil: number | null
  errorClass: ErrorClass | null
  probingUntil: number
  windowStartedAt: number
  windowCalls: number
  windowFailures: number
}

export type Failure = {
  readonly errorClass: ErrorClass
  readonly status: number
  readonly retryAfterMs: number | undefined
  readonly detail: string
}

/** Offers' health in this process, shared with the others through Redis. Only offers that have failed are known to it. */
export type HealthStore = {
  /** 0 when the offer may be tried now, else the Unix milliseconds at which it may be. */
  blockedUntil(offer: Offer, now: number): number
  /** True while no offer has anything against it: nothing needs to be asked. */
  isAllWell(): boolean
  /** Marks the one real request that tries a backed-off offer whose time has come. */
  begin(offer: Offer): void
  succeeded(offer: Offer, rid: RequestId): void
  /** A failure that is the offer's: those of a buyer's own request are not reported here. */
  failed(offer: Offer, rid: RequestId, failure: Failure): void
  start(): Promise<void>
  close(): void
}

type Parts = {
  readonly redis: Redis
  readonly subscriptions: Subscriptions
  readonly clock: Clock
  readonly ids: Ids
  readonly node: string
  readonly emit: (event: HealthEvent) => void
}

export function createHealth({ redis, subscriptions, clock, ids, node, emit }: Parts): HealthStore {
  const states = new Map<string, State>()
  let timer: NodeJS.Timeout | undefined

  function stateOf(offer: string): State {
    let state = states.get(offer)
    if (state === undefined) {
      state = newState(clock.now())
      states.set(offer, state)
    }
    return state
  }

  /** Tells the other processes, after the fact; what gets lost the next failure repeats. */
  function share(offer: string, state: State | undefined): void {
    const pipeline = redis.pipeline()
    if (state === undefined) pipeline.hdel(cacheKeys.health, offer)
    else pipeline.hset(cacheKeys.health, offer, recordOf(state))
    pipeline
      .publish(CHANNELS.health, JSON.stringify([offer]))
      .exec()
      .catch(() => undefined)
  }

  function takeRecord(offer: string, text: string | null | undefined): void {
    if (text === null || text === undefined) {
      states.delete(offer)
      return
    }
    const record = HealthRecordSchema.safeParse(parse(text))
    if (record.success) Object.assign(stateOf(offer), record.data)
  }

  async function takeChanged(offers: readonly string[]): Promise<void> {
    if (offers.length === 0) return
    const texts = await redis.hmget(cacheKeys.health, ...offers)
    for (const [at, offer] of offers.entries()) takeRecord(offer, texts[at])
  }

  async function takeAll(): Promise<void> {
    const all = await redis.hgetall(cacheKeys.health)
    for (const [offer, text] of Object.entries(all)) takeRecord(offer, text)
    // What nobody has backed off, and the others know nothing of, is only this process's own count: it stays.
    for (const [offer, state] of states)
      if (all[offer] === undefined && state.backedOffUntil !== null) states.delete(offer)
  }

  function report(offer: Offer, rid: RequestId, change: Partial<HealthEvent> & Pick<HealthEvent, 'action'>): void {
    emit({
      v: 1,
      id: ids.make('hlt'),
      at: clock.now(),
      node,
      offer: offer.id,
      model: offer.model,
      rid,
      errorClass: null,
      statusCode: null,
      detail: '',
      backedOffUntil: null,
      ...change,
    })
  }

  return {
    isAllWell: () => states.size === 0,
    blockedUntil(offer, now) {
      const state = states.get(offer.id)
      if (state === undefined || state.backedOffUntil === null) return 0
      if (state.backedOffUntil > now) return state.backedOffUntil
      return state.probingUntil > now ? state.probingUntil : 0
    },
    begin(offer) {
      const state = states.get(offer.id)
      if (state?.backedOffUntil != null) state.probingUntil = clock.now() + PROBE_LEASE_MS
    },
    succeeded(offer, rid) {
      const state = states.get(offer.id)
      if (state === undefined) return
      state.consecutiveFailures = 0
      state.windowCalls++
      if (state.backedOffUntil === null) return
      states.delete(offer.id)
      share(offer.id, undefined)
      report(offer, rid, { action: 'recovered' })
    },
    failed(offer, rid, failure) {
      const now = clock.now()
      const state = stateOf(offer.id)
      count(state, now)
      state.errorClass = failure.errorClass
      const wasProbe = state.backedOffUntil !== null
      const facts = { errorClass: failure.errorClass, statusCode: failure.status, detail: failure.detail }
      if (!wasProbe && !isDue(state, failure.errorClass)) {
        report(offer, rid, { ...facts, action: 'counted' })
        return
      }
      // Late failures of calls that began before the back-off do not lengthen it.
      if (state.backedOffUntil !== null && state.backedOffUntil > now) return
      state.ejections++
      const ownMs = Math.min(BACK_OFF_STEP_MS * state.ejections, MAX_BACK_OFF_MS)
      state.backedOffUntil = now + Math.min(failure.retryAfterMs ?? ownMs, MAX_BACK_OFF_MS)
      state.probingUntil = 0
      share(offer.id, state)
      report(offer, rid, { ...facts, action: 'backed_off', backedOffUntil: state.backedOffUntil })
    },
    async start() {
      subscriptions.on(CHANNELS.health, (offers) => void takeChanged(offers).catch(() => undefined))
      timer = setInterval(() => void takeAll().catch(() => undefined), POLL_MS)
      await takeAll().catch(() => undefined)
    },
    close: () => clearInterval(timer),
  }
}

function newState(now: number): State {
  return {
    consecutiveFailures: 0,
    ejections: 0,
    backedOffUntil: null,
    errorClass: null,
    probingUntil: 0,
    windowStartedAt: now,
    windowCalls: 0,
    windowFailures: 0,
  }
}

function count(state: State, now: number): void {
  if (now - state.windowStartedAt > WINDOW_MS) {
    state.windowStartedAt = now
    state.windowCalls = 0
    state.windowFailures = 0
  }
  state.consecutiveFailures++
  state.windowCalls++
  state.windowFailures++
}

function isDue(state: State, errorClass: ErrorClass): boolean {
  if (AT_ONCE.has(errorClass) || state.consecutiveFailures >= CONSECUTIVE_LIMIT) return true
  return state.windowCalls >= WINDOW_MIN_CALLS && state.windowFailures >= state.windowCalls * WINDOW_FAILED_SHARE
}

function recordOf({ consecutiveFailures, ejections, backedOffUntil, errorClass }: State): string {
  return JSON.stringify({ consecutiveFailures, ejections, backedOffUntil, errorClass })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
