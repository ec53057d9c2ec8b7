import type { Redis } from 'ioredis'
import type { MarketOffer, Offer } from '#data-plane/call.ts'
import type { Cancel, Time } from '#shared/clock.ts'
import { HOUR, SECOND } from '#shared/clock.ts'
import type { HealthEvent } from '#shared/contract/health-event.ts'
import { HealthRecordSchema } from '#shared/contract/health-event.ts'
import { CHANNELS, cacheKeys } from '#shared/contract/redis-keys.ts'
import type { Ids, RequestId } from '#shared/ids.ts'
import { parseJson } from '#shared/parse-json.ts'
import type { Subscriptions } from '#shared/subscriptions.ts'
import type { Breaker, Failure } from './breaker.ts'
import { blockedUntil, newBreaker, takeFailure } from './breaker.ts'

/** The longest time for which a probe that never reports keeps its offer shut. */
const PROBE_LEASE_MS = 60 * SECOND
const POLL_MS = 10 * SECOND

/**
 * Health of offers in this process, shared with the others through Redis. Only offers that have failed are kept. A
 * buyer's own provider has no rating in the market, so reports about one change nothing.
 */
export type HealthStore = {
  /** Returns 0 when the offer may be tried now, otherwise the Unix milliseconds from which it may be. */
  blockedUntil(offer: MarketOffer, now: number): number
  /** The same for an offer of any kind, by its id. */
  restsUntil(offer: string, now: number): number
  /** True while no offer has a failure on record. Then no offer needs a check. */
  isAllWell(): boolean
  /** Offers that are backed off now, and offers with any failure on record. */
  figures(): { readonly backedOff: number; readonly suspect: number }
  /** Marks the one real request that tries a backed-off offer whose time has come. */
  begin(offer: Offer): void
  succeeded(offer: Offer, rid: RequestId): void
  /** Reports a failure of the offer. Failures that a buyer's own request caused are not reported here. */
  failed(offer: Offer, rid: RequestId, failure: Failure): void
  /**
   * Tells the seller, at most once an hour for each class, of a request that the offer cannot take or that was sent
   * twice. The offer's health stays.
   */
  noted(offer: Offer, rid: RequestId, failure: Failure): void
  /** Counts an answer with impossible usage. Every third one of a seller is reported; then this returns true. */
  suspect(offer: Offer, rid: RequestId, anomalies: readonly string[]): boolean
  start(): Promise<void>
  close(): void
}

type Parts = {
  readonly redis: Redis
  readonly subscriptions: Subscriptions
  readonly clock: Time
  readonly ids: Ids
  readonly node: string
  readonly emit: (event: HealthEvent) => void
}

export function createHealth(parts: Parts): HealthStore {
  const { redis, subscriptions, clock } = parts
  const breakers = new Map<string, Breaker>()
  const suspicions = new Map<string, number>()
  const notedAt = new Map<string, number>()
  let stop: Cancel | undefined
  function restsUntil(offer: string, now: number): number {
    const breaker = breakers.get(offer)
    return breaker === undefined ? 0 : blockedUntil(breaker, now)
  }
  return {
    isAllWell: () => breakers.size === 0,
    figures: () => ({
      backedOff: [...breakers.values()].filter(({ backedOffUntil }) => (backedOffUntil ?? 0) > clock.now()).length,
      suspect: breakers.size,
    }),
    blockedUntil: (offer, now) => restsUntil(offer.id, now),
    restsUntil,
    begin({ id }) {
      const breaker = id === null ? undefined : breakers.get(id)
      if (breaker && breaker.backedOffUntil !== null) breaker.probingUntil = clock.now() + PROBE_LEASE_MS
    },
    succeeded(offer, rid) {
      if (offer.id === null) return
      const breaker = breakers.get(offer.id)
      if (breaker === undefined) return
      breaker.consecutiveFailures = 0
      breaker.windowCalls++
      if (breaker.backedOffUntil === null) return
      breakers.delete(offer.id)
      share(redis, offer.id, undefined)
      report(parts, offer, rid, { action: 'recovered' })
    },
    failed(offer, rid, failure) {
      if (offer.id === null) return
      const breaker = breakers.get(offer.id) ?? newBreaker(clock.now())
      breakers.set(offer.id, breaker)
      const isBackedOff = takeFailure(breaker, failure, clock.now())
      if (isBackedOff) share(redis, offer.id, breaker)
      report(parts, offer, rid, {
        errorClass: failure.errorClass,
        statusCode: failure.status,
        detail: failure.detail,
        action: isBackedOff ? 'backed_off' : 'counted',
        backedOffUntil: breaker.backedOffUntil,
      })
    },
    noted(offer, rid, { errorClass, status: statusCode, detail }) {
      if (offer.id === null || !isNews(notedAt, `${offer.id} ${errorClass}`, clock.now())) return
      report(parts, offer, rid, { errorClass, statusCode, detail, action: 'flagged' })
    },
    suspect: (offer, rid, anomalies) => offer.id !== null && suspect(parts, suspicions, { offer, rid, anomalies }),
    async start() {
      const takeSome = (offers: readonly string[]) => takeChanged(parts, breakers, offers).catch(() => undefined)
      const take = () => takeAll(parts, breakers).catch(() => undefined)
      subscriptions.listen(CHANNELS.health, takeSome, take)
      stop = clock.every(POLL_MS, take)
      await take()
    },
    close: () => stop?.(),
  }
}

/** The least time between two notes to an offer about one kind of request. */
const NOTE_EVERY_MS = HOUR
const MAX_NOTED = 10_000

function isNews(notedAt: Map<string, number>, subject: string, now: number): boolean {
  const before = notedAt.get(subject)
  if (before !== undefined && now - before < NOTE_EVERY_MS) return false
  if (notedAt.size >= MAX_NOTED) notedAt.clear()
  notedAt.set(subject, now)
  return true
}

/** Anomalies that raise a seller's bill: usage that is no number, and counts above the possible maximum. */
const FALSE_FIGURES: ReadonlySet<string> = new Set([
  'usage_insane',
  'input_clipped',
  'output_clipped',
  'charge_clipped',
])
const SUSPICIONS_A_FLAG = 3
const MAX_SUSPECTS = 10_000

type Suspicion = { readonly offer: MarketOffer; readonly rid: RequestId; readonly anomalies: readonly string[] }

function suspect(parts: Parts, suspicions: Map<string, number>, { offer, rid, anomalies }: Suspicion): boolean {
  const foundAnomalies = anomalies.filter((anomaly) => FALSE_FIGURES.has(anomaly))
  if (foundAnomalies.length === 0) return false
  const count = (suspicions.get(offer.sellerAccount) ?? 0) + 1
  if (count < SUSPICIONS_A_FLAG) {
    if (suspicions.size >= MAX_SUSPECTS) suspicions.clear()
    suspicions.set(offer.sellerAccount, count)
    return false
  }
  suspicions.delete(offer.sellerAccount)
  const detail = `${count} answers with usage that cannot be true, the last: ${foundAnomalies.join(', ')}`
  report(parts, offer, rid, { errorClass: 'bad_usage', statusCode: 200, detail, action: 'flagged' })
  return true
}

/** Tells the other processes afterwards. The next failure repeats a lost message. */
function share(redis: Redis, offer: string, breaker: Breaker | undefined): void {
  const pipeline = redis.pipeline()
  if (breaker === undefined) pipeline.hdel(cacheKeys.health, offer)
  else {
    const { consecutiveFailures, ejections, backedOffUntil, errorClass } = breaker
    pipeline.hset(
      cacheKeys.health,
      offer,
      JSON.stringify({ consecutiveFailures, ejections, backedOffUntil, errorClass }),
    )
  }
  pipeline
    .publish(CHANNELS.health, JSON.stringify([offer]))
    .exec()
    .catch(() => undefined)
}

async function takeChanged({ redis, clock }: Parts, breakers: Map<string, Breaker>, offers: readonly string[]) {
  if (offers.length === 0) return
  const texts = await redis.hmget(cacheKeys.health, ...offers)
  for (const [at, offer] of offers.entries()) takeRecord(breakers, offer, texts[at], clock.now())
}

async function takeAll({ redis, clock }: Parts, breakers: Map<string, Breaker>): Promise<void> {
  const all = await redis.hgetall(cacheKeys.health)
  for (const [offer, text] of Object.entries(all)) takeRecord(breakers, offer, text, clock.now())
  for (const [offer, breaker] of breakers) {
    // An entry without a back-off is this process's own count. The others do not know it, so it stays.
    if (all[offer] === undefined && breaker.backedOffUntil !== null) breakers.delete(offer)
  }
}

function takeRecord(breakers: Map<string, Breaker>, offer: string, text: string | null | undefined, now: number): void {
  if (text === null || text === undefined) {
    breakers.delete(offer)
    return
  }
  const record = HealthRecordSchema.safeParse(parseJson(text))
  if (record.success) breakers.set(offer, { ...(breakers.get(offer) ?? newBreaker(now)), ...record.data })
}

function report(
  { ids, clock, node, emit }: Parts,
  offer: MarketOffer,
  rid: RequestId,
  change: Partial<HealthEvent> & Pick<HealthEvent, 'action'>,
): void {
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
