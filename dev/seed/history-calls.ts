import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { Endpoint } from '#shared/catalog/model.ts'
import type { Clip } from '#shared/clips.ts'
import { clipUsage } from '#shared/clips.ts'
import { DAY, HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import type { HealthEvent } from '#shared/contract/health-event.ts'
import { writeJobEnd } from '#shared/contract/job-end.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import { MAX_EXPLAINED_OFFERS, UsageEventSchema } from '#shared/contract/usage-event.ts'
import { isHeardByTokens, likelySoundTokens } from '#shared/heard-audio.ts'
import type { KeyId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import type { ImageSize } from '#shared/images.ts'
import { DEFAULT_SIZE, imageUsage } from '#shared/images.ts'
import type { KeptBps } from '#shared/money.ts'
import { keptBps, splitCharge, ZERO } from '#shared/money.ts'
import { chargeUsage, listCost, writeUnitPrices } from '#shared/pricing.ts'
import type { Usage } from '#shared/usage.ts'
import { UsageSchema } from '#shared/usage.ts'
import type { Goods } from './history-goods.ts'

/** A call as JSON. A film or a piece of music is a long job: its submit, and the end. */
export type PastCall = { readonly event: string; readonly end?: string }

/** Calls, oldest first. */
export type PastCalls = Iterable<PastCall>

/** An account and the key of its calls. */
export type PastBuyer = { readonly account: string; readonly keyId: KeyId | null }

type Span = { readonly from: number; readonly to: number; readonly count: number }
type Parts = {
  readonly goods: readonly Goods[]
  readonly buyers: readonly PastBuyer[]
  readonly feeBps: KeptBps
  readonly span: Span
}

/** Shares of calls: with one failover, without an answer, with a buyer who disconnects. */
const RETRIED = 0.03
const FAILED = 0.006
const LEFT = 0.01
const CACHED = 0.35
/** The share of calls for images, sound, videos and music. */
const MEDIA = 0.12
/** The growth over the span, as a share of the beginning: the end is four times as busy. */
const GROWTH = 3
/** The widest change of a discount over the weeks, in basis points. */
const DRIFT_BPS = 300
/** Factor between the highest possible cost of a call and its cost. */
const HELD = 3n

/**
 * Yields plausible calls: busy by day, mostly for a few models and the lowest-priced offers, with a speed for each
 * provider.
 */
export function* createPastCalls({ goods, buyers, feeBps, span }: Parts): PastCalls {
  const random = randomFrom(span.from)
  let now = span.from
  const ids = createIds({ now: () => now })
  const isOfWords = ({ endpoint }: Goods) => endpoint === 'chat'
  const words = goods.filter(isOfWords)
  const others = goods.filter((item) => !isOfWords(item))
  const media = others.length === 0 ? words : others
  // The files of a past job exist at no provider, so every past job is older than the market keeps files.
  const lastJobAt = span.to - DAY
  const calls = others.filter(({ endpoint }) => !JOBS.has(endpoint))
  const recentMedia = calls.length === 0 ? words : calls
  for (const at of instantsOf(span, random)) {
    now = at
    const shelf = random() < MEDIA ? (at > lastJobAt ? recentMedia : media) : words
    const item = shelf[Math.min(shelf.length - 1, Math.floor(shelf.length * random() ** 2.2))]
    const buyer = buyers[Math.floor(buyers.length * random() ** 1.5)]
    if (item === undefined || buyer === undefined) continue
    const event = pastCall({ at, rid: ids.ulid(), buyer, item, feeBps, random })
    const isJob = JOBS.has(item.endpoint) && event.outcome !== 'failed'
    yield isJob ? pastJob(event, { item, latest: span.to, random }) : { event: JSON.stringify(event) }
  }
}

/** The endpoints of which a call starts a long job. */
const JOBS: ReadonlySet<Endpoint> = new Set(['video', 'music'])
const JOB_LIMIT_MS = 10 * MINUTE
/** The shortest job, and how much longer others take. */
const [LEAST_JOB_MS, MORE_JOB_MS] = [15 * SECOND, 90 * SECOND]
const SUBMIT_MS = 400

type Making = { readonly item: Goods; readonly latest: number; readonly random: () => number }

/** A finished job in place of a call. Its quote is its cost, because the length of a clip is known at the submit. */
function pastJob(call: NewEvent, { item, latest, random }: Making): PastCall {
  const { startedAt, chargeMicro, usage } = call
  const event = {
    ...call,
    kind: 'submit' as const,
    job: {
      deadlineAt: startedAt + JOB_LIMIT_MS,
      providerJob: `past-${call.rid}`,
      unitPrices: writeUnitPrices(item.unitPrices),
      bound: usage,
    },
    endedAt: startedAt + SUBMIT_MS,
    isStreamed: false,
    outcome: 'succeeded' as const,
    finishReason: null,
    usage: {},
    usageSource: 'reported' as const,
    holdMicro: chargeMicro,
    listMicro: chargeMicro,
    sellerNetMicro: '0',
    feeMicro: '0',
    ttftMs: null,
    streamMs: null,
    attempts: call.attempts.map((attempt) => ({ ...attempt, ms: Math.min(attempt.ms, SUBMIT_MS) })),
    explanation: null,
  }
  const submit = UsageEventSchema.parse(event)
  const { listMicro } = UsageEventSchema.parse(call)
  const charge = {
    usage: UsageSchema.parse(usage),
    source: 'reported',
    chargeMicro: submit.chargeMicro,
    listMicro,
    anomalies: [],
  } as const
  const now = Math.min(startedAt + LEAST_JOB_MS + Math.round(MORE_JOB_MS * random()), latest + SECOND)
  return {
    event: JSON.stringify(event),
    end: writeJobEnd(submit, { outcome: 'succeeded', errorCode: null, charge, now }),
  }
}

type Call = {
  readonly at: number
  readonly rid: string
  readonly buyer: PastBuyer
  readonly item: Goods
  readonly feeBps: KeptBps
  readonly random: () => number
}
type NewEvent = z.input<typeof UsageEventSchema>

function pastCall({ at, rid, buyer, item, feeBps, random }: Call): NewEvent {
  const fate = random()
  const isFailed = fate < FAILED
  const first = Math.floor(item.offers.length * random() ** 3)
  const attempts: Attempt[] = []
  // A retry goes on to the next more expensive offer, like in real calls.
  const isRetried = fate < FAILED + RETRIED && first + 1 < item.offers.length
  if (isRetried || isFailed) attempts.push(failedAttempt(item.offers[first], random))
  const offer = item.offers[isRetried ? first + 1 : first]
  const usage: Usage = isFailed ? {} : usageOf(item, random)
  const kept = keptAt(offer?.keptBps ?? 10_000, at)
  const charge = isFailed ? ZERO : chargeUsage(item.unitPrices, usage, kept)
  const { sellerNet, fee } = splitCharge(charge, feeBps)
  const { ttftMs, streamMs } = speedOf(offer?.provider ?? '', usage, random)
  const isStreamed = !isFailed && random() < 0.8 && item.endpoint === 'chat'
  const durationMs = isFailed ? 900 : ttftMs + streamMs
  if (!isFailed && offer) {
    attempts.push({ offer: offer.id, provider: offer.provider, status: 200, ms: durationMs, errorClass: null })
  }
  const isLeft = !isFailed && fate > 1 - LEFT
  return {
    v: 1,
    rid,
    startedAt: at,
    endedAt: at + durationMs,
    node: 'history',
    ...buyer,
    rail: 'credit',
    wire: WIRES[item.endpoint] ?? 'chat',
    endpoint: item.endpoint,
    model: item.model,
    requestedModel: item.model,
    offer: isFailed ? null : (offer?.id ?? null),
    sellerAccount: isFailed ? null : (offer?.sellerAccount ?? null),
    provider: isFailed ? null : (offer?.provider ?? null),
    servedBy: isFailed ? null : 'marketplace',
    isStreamed,
    outcome: isFailed ? 'failed' : isLeft ? 'cancelled' : 'succeeded',
    errorCode: isFailed ? 'provider_error' : null,
    finishReason: isFailed || isLeft || item.endpoint !== 'chat' ? null : 'stop',
    usage,
    usageSource: isLeft ? 'estimated' : 'reported',
    anomalies: [],
    priceVersion: item.priceVersion,
    keptBps: Number(kept),
    feeBps: Number(feeBps),
    holdMicro: (charge * HELD + 100n).toString(),
    chargeMicro: charge.toString(),
    listMicro: (isFailed ? ZERO : listCost(item.unitPrices, usage)).toString(),
    sellerNetMicro: sellerNet.toString(),
    feeMicro: fee.toString(),
    ttftMs: isStreamed ? ttftMs : null,
    streamMs: isStreamed ? streamMs : null,
    overheadMs: 0.4,
    attempts,
    explanation: explanationOf(item, first, (offer) => {
      const most = chargeUsage(item.unitPrices, usage, keptAt(offer.keptBps, at))
      return (most * HELD).toString()
    }),
  }
}

/**
 * Offers with a lower price than the first attempt's were backed off; the others followed in the order of their price.
 */
function explanationOf(
  { offers, untrustedOffers }: Goods,
  first: number,
  estimateOf: (offer: Goods['offers'][number]) => string,
): NewEvent['explanation'] {
  return {
    ranked: offers
      .slice(first, first + MAX_EXPLAINED_OFFERS)
      .map((offer) => ({ offer: offer.id, provider: offer.provider, estimateMicro: estimateOf(offer) })),
    excluded: [
      ...untrustedOffers.map((offer) => ({ offer, reason: 'trusted' })),
      ...offers.slice(0, first).map(({ id }) => ({ offer: id, reason: 'health' })),
    ].slice(0, MAX_EXPLAINED_OFFERS),
  }
}

function failedAttempt(offer: Goods['offers'][number] | undefined, random: () => number): Attempt {
  const isLimited = random() < 0.4
  return {
    offer: offer?.id ?? null,
    provider: offer?.provider ?? '',
    status: isLimited ? 429 : 503,
    ms: Math.round(80 + random() * 600),
    errorClass: isLimited ? 'rate_limited' : 'server_error',
  }
}

/** The wires of endpoints that have another name. */
const WIRES: Readonly<Record<string, string>> = {
  image: 'images',
  speech: 'speech',
  transcription: 'transcriptions',
  video: 'video',
  music: 'music',
}

/** Sides of the requested pictures, the usual ones first. */
const SIDES: readonly ImageSize[] = [
  { width: 1_024, height: 1_024 },
  { width: 1_024, height: 1_536 },
  { width: 2_048, height: 2_048 },
]
const MOST_IMAGES = 4
const MOST_CHARACTERS = 4_000
const MOST_MINUTES = 12
/** Text tokens per sound token. */
const TEXT_OF_SOUND = 0.4

function usageOf({ endpoint, unitPrices, imageTokens, clip }: Goods, random: () => number): Usage {
  switch (endpoint) {
    case 'image': {
      const size = SIDES[Math.floor(SIDES.length * random() ** 3)] ?? DEFAULT_SIZE
      const count = 1 + Math.floor(MOST_IMAGES * random() ** 4)
      const shape = { size, resolution: undefined, quality: undefined }
      const tokens = { input: Math.round(10 + 90 * random()), imageOutput: imageTokens * count }
      return imageUsage(unitPrices, shape, count) ?? tokens
    }
    case 'speech':
      return { characters: Math.ceil(MOST_CHARACTERS * random() ** 3) + 20 }
    case 'transcription': {
      const milliseconds = Math.ceil(MOST_MINUTES * MINUTE * random() ** 3) + 2 * SECOND
      if (!isHeardByTokens(unitPrices)) return { milliseconds }
      const audioInput = likelySoundTokens(milliseconds)
      return { audioInput, output: Math.ceil(audioInput * TEXT_OF_SOUND) }
    }
    case 'video':
    case 'music':
      return clipUsage(unitPrices, anyShape(clip, random))
    default:
      return wordsOf(random)
  }
}

/** A random choice of a model's lengths and resolutions, with the shorter and the first ones more often. */
function anyShape({ lengths, resolutions }: Clip, random: () => number): Parameters<typeof clipUsage>[1] {
  const steps = lengths === null ? 0 : Math.floor((lengths.most - lengths.least) / lengths.step)
  return {
    seconds: lengths === null ? undefined : lengths.least + lengths.step * Math.floor((steps + 1) * random() ** 2),
    resolution: resolutions[Math.floor(resolutions.length * random() ** 2)],
  }
}

function wordsOf(random: () => number): Usage {
  const input = Math.round(120 * Math.exp(random() * 3.2))
  const cacheRead = random() < CACHED ? Math.round(input * (0.5 + random())) : 0
  return { input, output: Math.round(20 * Math.exp(random() * 3.6)), ...(cacheRead > 0 ? { cacheRead } : {}) }
}

/** The time of an image or a sound, as a number of tokens. */
const TOKENS_OF_MEDIA = 600

/** Each provider has its own speed, and no two calls take the same time. */
function speedOf(
  provider: string,
  { output = TOKENS_OF_MEDIA }: Usage,
  random: () => number,
): { ttftMs: number; streamMs: number } {
  const pace = (createHash('sha256').update(provider).digest()[0] ?? 0) / 255
  const noise = Math.exp((random() + random() + random() - 1.5) * 0.6)
  const perSecond = (40 + 110 * (1 - pace)) / noise
  return {
    ttftMs: Math.round((180 + 700 * pace) * noise),
    streamMs: Math.max(1, Math.round((output * 1_000) / perSecond)),
  }
}

/** The kept share of an offer at an earlier time. Prices move slowly and reach their present value at the end. */
function keptAt(now: number, at: number): KeptBps {
  const drift = Math.round(DRIFT_BPS * Math.sin(at / (4 * DAY)))
  return keptBps(Math.max(100, Math.min(10_000, now + drift)))
}

/**
 * Times from the oldest on, many by day and few by night (UTC), more from week to week. The last one is the span's end,
 * so that later calls follow without a gap.
 */
function* instantsOf({ from, to, count }: Span, random: () => number): Generator<number> {
  const hours = Math.max(1, Math.ceil((to - from) / HOUR))
  const weights = Array.from({ length: hours }, (_, index) => {
    const hour = ((from + index * HOUR) / HOUR) % 24
    return (1 + 0.6 * Math.sin(((hour - 9) * Math.PI) / 12)) * (1 + (GROWTH * index) / hours)
  })
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  let due = 0
  for (const [index, weight] of weights.entries()) {
    due += ((count - 1) * weight) / total
    const start = from + index * HOUR
    const length = Math.min(HOUR, to - start)
    const instants = Array.from({ length: Math.floor(due) }, () => Math.floor(start + random() * length))
    due -= instants.length
    yield* instants.sort((left, right) => left - right)
  }
  yield to
}

const MAX_OUTAGE_MINUTES = 10
/** Each of the first offers of a model has one outage in this time, so a restart of the market adds few. */
const OUTAGE_EVERY_MS = 30 * DAY

/** Outages of providers, each a few minutes long. */
export function pastOutages(goods: readonly Goods[], { from, to }: Span): HealthEvent[] {
  const random = randomFrom(from + 1)
  let now = from
  const ids = createIds({ now: () => now })
  const events: HealthEvent[] = []
  for (const item of goods) {
    for (const offer of item.offers.slice(0, 2)) {
      if (random() * OUTAGE_EVERY_MS > to - from) continue
      const lengthMs = Math.ceil(random() * MAX_OUTAGE_MINUTES) * MINUTE
      // An outage ends with the span at the latest, because no past event is later than now.
      now = Math.floor(from + random() * Math.max(0, to - from - lengthMs))
      const event = { v: 1, node: 'history', offer: offer.id, model: item.model, rid: null, detail: '' } as const
      const backedOffUntil = now + lengthMs
      const failure = { errorClass: 'server_error', statusCode: 503, action: 'backed_off', backedOffUntil } as const
      events.push({ ...event, ...failure, id: ids.make('hlt'), at: now })
      const recovery = { errorClass: null, statusCode: null, action: 'recovered', backedOffUntil: null } as const
      events.push({ ...event, ...recovery, id: ids.make('hlt'), at: backedOffUntil })
    }
  }
  return events
}

/** Numbers from 0 to below 1, the same for the same seed. A linear congruence of which the high bits are used. */
function randomFrom(seed: number): () => number {
  let state = BigInt(seed)
  return () => {
    state = (state * 6_364_136_223_846_793_005n + 1_442_695_040_888_963_407n) & 0xffff_ffff_ffff_ffffn
    return Number(state >> 32n) / 4_294_967_296
  }
}
