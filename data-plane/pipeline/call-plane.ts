import type { AttemptPlan, CallFacts, Journal, RequestHead } from '#data-plane/call.ts'
import type { AnyRail, Payment, Settling } from '#data-plane/rails/rail.ts'
import type { Artifacts } from '#data-plane/store/artifacts.ts'
import type { BuyerShares } from '#data-plane/store/buyer-shares.ts'
import type { EventQueues } from '#data-plane/store/events.ts'
import type { ForwardedJobs } from '#data-plane/store/forwarded-jobs.ts'
import type { HealthStore } from '#data-plane/store/health.ts'
import type { Market } from '#data-plane/store/market.ts'
import type { OfferCapsStore } from '#data-plane/store/offer-caps.ts'
import type { OwnCalls, RunningCall } from '#data-plane/store/own-calls.ts'
import type { PaidAnswers } from '#data-plane/store/paid-answers.ts'
import type { RateLimits } from '#data-plane/store/rate-limits.ts'
import type { RefusalCounts } from '#data-plane/store/refusal-counts.ts'
import type { SpentCaps } from '#data-plane/store/spent-caps.ts'
import type { WarmOffers } from '#data-plane/store/warm-offers.ts'
import type { Upstream } from '#data-plane/upstream/send.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import type { Time } from '#shared/clock.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import type { RequestId } from '#shared/ids.ts'
import type { RefusedWork } from '#shared/refused-work.ts'
import type { TurnoverMap } from '#shared/turnover-map.ts'
import type { AnswerRoom } from './answer-room.ts'
import type { AttemptResult } from './attempt-result.ts'
import type { RetryBudget } from './retry-budget.ts'
import type { Ticker } from './ticker.ts'

/** Deadlines of one call, in milliseconds. */
export type CallLimits = {
  readonly totalMs: number
  /** The same limit for images, which have no visible part before the end. */
  readonly picturesMs: number
  /** Milliseconds until the head of a stream. */
  readonly firstByteMs: number
  /** A stream ends after this silence between pieces of content. Comments are no content. */
  readonly idleMs: number
  /** Silence after which the buyer gets a keep-alive. */
  readonly keepAliveMs: number
  /** Milliseconds for which a stream is read on for its usage after its buyer has left. */
  readonly drainMs: number
  /**
   * The same limit for an answer of which the buyer has received nothing, so that its cost is known only from its
   * usage.
   */
  readonly unseenDrainMs: number
  readonly maxDrains: number
}

export const CHAT_LIMITS: CallLimits = {
  totalMs: 600_000,
  picturesMs: 300_000,
  firstByteMs: 30_000,
  idleMs: 60_000,
  keepAliveMs: 10_000,
  drainMs: 30_000,
  unseenDrainMs: 120_000,
  maxDrains: 64,
}

type Log = {
  isLevelEnabled(level: string): boolean
  info(facts: object, text: string): void
  warn(facts: object, text: string): void
  error(facts: object, text: string): void
}

/** Listens to the stages of traced calls. */
export type CallTracing = {
  begin(head: RequestHead): void
  tried(plan: AttemptPlan, result: AttemptResult): void
}

/** This process, and the addresses of its market. */
export type CallSite = {
  readonly nodeId: string
  readonly baseUrl: string
  readonly apiBaseUrl: string
  /** The hosts of both addresses, with their ports. */
  readonly hosts: { readonly base: string; readonly api: string }
}

/** The state that decides the order of offers. */
export type CallRouting = {
  readonly health: HealthStore
  readonly warm: WarmOffers
  readonly refusals: RefusalCounts
  readonly retries: RetryBudget
  readonly turnSeal: AttemptPlan['seal']
}

/** The daily caps of offers: the used-up ones, the used amount of each, and the share of one buyer. */
export type CallCaps = {
  readonly spent: SpentCaps
  readonly offers: OfferCapsStore
  readonly shares: BuyerShares
}

/** The parts that charge a call. */
export type CallMoney = {
  readonly journal: Journal
  readonly events: EventQueues
  /** Settles the ends of jobs that were paid from credit. */
  readonly credit: Settling
  /** Pays for calls to the payer's own providers. */
  readonly ownProviders: Payment
  readonly ownCalls: OwnCalls
  readonly paidAnswers: PaidAnswers
}

/** Jobs that forwarded calls start at providers. */
export type CallJobs = {
  readonly forwarded: ForwardedJobs
  /** Milliseconds for which a job belongs to its buyer. */
  readonly bindingMs: number
  /** Milliseconds that a job may take. */
  readonly deadlineMs: number
}

/** The calls that run in this process. */
export type CallProcess = {
  readonly ticker: Ticker
  /** Streams without a buyer that are read to their end. */
  readonly drains: { count: number }
  /** Admitted calls, for look-ups before their end. */
  readonly running: TurnoverMap<RequestId, RunningCall>
  /** Set when the process ends. Running calls are then cut in their protocol's own way and settled. */
  readonly ending: { isDue: boolean }
}

/** Metrics, traces and the log of calls. */
export type CallWatch = {
  observe(facts: CallFacts, attempts: readonly Attempt[]): void
  readonly tracing?: CallTracing | undefined
  /** Decides whether the log line of a successful call is written. Some processes leave most of them out. */
  logsCall(): boolean
}

/** All parts that a call uses. A stage takes the group that it needs. */
export type CallPlane = {
  readonly site: CallSite
  readonly clock: Time
  readonly log: Log
  readonly limits: CallLimits
  market(): Market
  readonly routing: CallRouting
  readonly caps: CallCaps
  readonly money: CallMoney
  readonly jobs: CallJobs
  readonly rates: RateLimits
  readonly refusedWork: RefusedWork
  readonly upstream: Upstream
  /** The memory for large answers. */
  readonly answers: AnswerRoom
  /** Media files of answers. `artifacts.keep` stores one and links to it. */
  readonly artifacts: Pick<Artifacts, 'keep' | 'open' | 'isSigned' | 'admitDownload' | 'remove'>
  readonly process: CallProcess
  readonly watch: CallWatch
}

/**
 * The limit of failover: until the buyer has content, until a request has reached a provider that acts on it, or no
 * failover at all.
 */
export type Failover = 'until-content' | 'until-connected' | 'never'

/** A row of the surface: its protocol, the ways to pay, and the limit of failover. */
export type CallRoute = {
  readonly wire: AnyWire
  readonly rails: readonly AnyRail[]
  /** The answer to a request without a credential. */
  readonly withoutCredential: 'challenge' | 'reject'
  readonly failover: Failover
  /**
   * Members of a 402 of this path for catalogues of paid paths, as extensions of x402; absent for a path without x402.
   */
  readonly extensions?: Readonly<Record<string, unknown>>
}
