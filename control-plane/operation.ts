import { createHmac } from 'node:crypto'
import type { z } from 'zod'
import type { Time } from '#shared/clock.ts'
import { DAY, SECOND } from '#shared/clock.ts'
import type { ClockWatch } from '#shared/clock-skew.ts'
import { AppError } from '#shared/errors.ts'
import type { Ids, OrganizationId, UserId } from '#shared/ids.ts'
import type { Logger } from '#shared/logger.ts'
import type { KeptBps } from '#shared/money.ts'
import type { OutboundPolicy } from '#shared/outbound-guard.ts'
import type { KeyRing } from '#shared/seal.ts'
import type { Secret } from '#shared/secret.ts'
import type { Actor, BuyerActor, OperatorActor, OrgActor, SellerActor, SessionActor } from './actor.ts'
import { scopeOf, sideOf, tenantOf } from './actor.ts'
import { countCall, countStranger, countWallet } from './call-limits.ts'
import { insertAuditEntries } from './db/audit.ts'
import type { Database } from './db/database.ts'
import { isTransient } from './db/database.ts'
import { claimIdempotencyKey, deleteIdempotencyKey, finishIdempotencyKey } from './db/idempotency.ts'
import { inputSentence } from './input-sentences.ts'
import type { ContractWallets } from './ports/contract-wallets/contract-wallets.ts'
import type { Desk } from './ports/desk/desk.ts'
import type { DebitGate } from './ports/gate/debit-gate.ts'
import type { Gate } from './ports/gate/gate.ts'
import type { KeyCounters } from './ports/key-counters/key-counters.ts'
import type { MoneyCheck } from './ports/ledger/money-check.ts'
import type { MoneyLedger } from './ports/ledger/money-ledger.ts'
import type { Controls } from './ports/limits/controls.ts'
import type { Limiter, LimitState } from './ports/limits/limiter.ts'
import type { OfferState } from './ports/offer-state/offer-state.ts'
import type { ListModels, Probe } from './ports/provider/probe.ts'
import type { Publisher } from './ports/publisher/publisher.ts'
import type { Waker } from './ports/queue/waker.ts'
import type { MoneyMetrics } from './ports/telemetry/money-metrics.ts'
import type { Telemetry } from './ports/telemetry/telemetry.ts'
import type { Announce } from './ports/updates/updates.ts'
import type { WebhookSender } from './ports/webhook/webhook-sender.ts'

/** Numbers and secrets that operations work with. */
export type Settings = {
  readonly keyPepper: Secret
  readonly fingerprintPepper: Secret
  /** Signs links that open without a key. */
  readonly linkSecret: Secret
  /** Seals sign-in nonces, and what sessions are looked up under. */
  readonly sessionSecret: Secret
  /** The addresses of this service as browsers know it: `https://host[:port]`. */
  readonly origins: readonly string[]
  readonly keyRing: KeyRing
  readonly outbound: OutboundPolicy
  readonly platformFeeBps: KeptBps
  /** Calls a minute that the data plane grants a key whose record sets none, and how many may run at once. */
  readonly keyRatePerMinute: number
  readonly keyInFlight: number
  readonly rateLimits: RateLimits
}

/** Calls a minute by kind of operation: of one key, and of one wallet over all its keys. */
export type RateLimits = {
  readonly [Kind in LimitKind]: { readonly perKey: number; readonly perWallet: number | null }
}
export type LimitKind = 'read' | 'write' | 'probe' | 'challenge'

/** What every operation may use. */
export type Ctx = {
  readonly db: Database
  /** The same database, as far as money goes. */
  readonly ledger: MoneyLedger
  readonly clock: Time
  readonly ids: Ids
  readonly gate: Gate
  readonly debits: DebitGate
  readonly keyCounters: KeyCounters
  readonly checkMoney: MoneyCheck
  readonly metrics: MoneyMetrics
  readonly telemetry: Telemetry
  /** How far this process's clock is from others: what depends on the time is not decided by a wrong one. */
  readonly clocks: Pick<ClockWatch, 'requireTrusted'>
  readonly publisher: Publisher
  readonly probe: Probe
  readonly listModels: ListModels
  readonly wake: Waker
  readonly announce: Announce
  readonly sendWebhook: WebhookSender
  readonly contractWallets: ContractWallets
  readonly limiter: Limiter
  readonly offerState: OfferState
  readonly controls: Controls
  readonly desk: Desk
  readonly log: Logger
  readonly settings: Settings
}

/** One change for the audit: what was touched, and how it looked before and after. Plain JSON without secrets. */
export type Change = {
  readonly subject: string
  readonly before: object | null
  readonly after: object | null
  /** Who did it, where the operation itself finds that out. */
  readonly by?: UserId
  /** The organisation whose log it stands in, where that is not that of the actor's workspace. */
  readonly organization?: OrganizationId
}

/** The context of a running operation. */
export type RunCtx = Ctx & {
  /** Says what is being changed; the audit row holds it when the operation ends well. */
  note(change: Change): void
  /** Counts a call that counts when its run says so, for a wallet or, without one, for the caller's network address. */
  count(wallet?: string): Promise<void>
}

/** Which actor an operation with this access is given. */
export type ActorsByAccess = {
  readonly public: Actor
  readonly buyer: BuyerActor
  /** Whoever changes what the whole account goes by: any buyer but a bounded key. */
  readonly 'buyer-account': BuyerActor
  readonly seller: SellerActor
  readonly session: SessionActor
  readonly org: OrgActor | SessionActor
  readonly operator: OperatorActor
}
export type Access = keyof ActorsByAccess

/** Operations with an idempotency key keep their answer as JSON, so they say how to read it back. */
type Replay<Output> =
  | { readonly idempotency: 'none' }
  | {
      readonly idempotency: 'required' | 'accepted'
      /** Reads the stored answer of the first run. */
      readonly output: z.ZodType<Output>
      /** What of an answer is stored: without secrets. All of it when left out. */
      readonly forReplay?: (output: Output) => Output
      /**
       * For an answer that goes on after it was given, a stream of lines: gives `last` what is stored, and what `output`
       * reads back, once the work is over. The answer that it returns ends after `last`, so that who has read it to its end
       * and asks again is given the same. `last` never rejects, nor does what waits for it.
       */
      readonly endAfter?: (output: Output, last: (stored: unknown) => Promise<void>) => Output
    }

/** One thing a caller can do. */
export type Operation<A extends Access, Input extends z.ZodType, Output> = {
  /** `noun.verb`, as audit and metrics know it. */
  readonly name: string
  readonly access: A
  readonly input: Input
  /** Which limit counts it. `none` is for operations of operators. Whatever is not a `read` is audited. */
  readonly limit: LimitKind | 'none'
  /**
   * For callers without a credential: what a call is about. Each network address has the limit for each of them to itself,
   * so that nobody can use up what another needs.
   */
  readonly countBy?: (input: z.output<Input>) => string
  /** True where the run finds out for whom a call counts, and says so with `count`. */
  readonly isCountedByRun?: true
  /** False for what changes nothing, although it is not counted as a `read`. */
  readonly isAudited?: false
  readonly run: (ctx: RunCtx, actor: ActorsByAccess[A], input: z.output<Input>) => Promise<Output>
} & Replay<Output>

/** Names the parts of an operation and infers their types. */
export function defineOperation<A extends Access, Input extends z.ZodType, Output>(
  operation: Operation<A, Input, Output>,
): Operation<A, Input, Output> {
  return operation
}

export type InvokeOptions = {
  readonly idempotencyKey?: string | undefined
  /** The network address that the call came from, as limits count it; left out inside the process. */
  readonly peer?: string
  /** Told where the caller stands in the limit that counted the call. */
  readonly onLimit?: (state: LimitState) => void
}

/**
 * Runs an operation for an actor: access, rate limit, validation, idempotency, the run itself, the audit row. The only
 * caller of `run`. Throws AppErrors, and whatever the run throws.
 */
export async function invoke<A extends Access, Input extends z.ZodType, Output>(
  ctx: Ctx,
  actor: Actor,
  operation: Operation<A, Input, Output>,
  ...[rawInput, options = {}]: [rawInput: unknown, options?: InvokeOptions]
): Promise<Output> {
  const admitted = ADMIT[operation.access](actor)
  const workspace = 'workspace' in actor ? actor.workspace : undefined
  if (workspace?.isReadOnly && operation.limit !== 'read') throw new AppError('forbidden')
  const work = async () => {
    const { limit, countBy, isCountedByRun } = operation
    const counting = { ctx, kind: limit, options }
    if (countBy === undefined && !isCountedByRun) await countCall(counting, actor)
    const input = parseInput(operation.input, rawInput)
    if (countBy !== undefined) await countStranger(counting, countBy(input))
    const changes: Change[] = []
    const run = async () => {
      const runCtx: RunCtx = {
        ...ctx,
        note: (change) => changes.push(change),
        count: (wallet) => (wallet === undefined ? countStranger(counting) : countWallet(counting, wallet)),
      }
      const output = await operation.run(runCtx, admitted, input)
      const write = () => audit(ctx, actor, operation.name, changes)
      if (operation.limit === 'read' || operation.isAudited === false) return output
      if (operation.idempotency !== 'none' && operation.endAfter) return operation.endAfter(output, write)
      await write()
      return output
    }
    return operation.idempotency === 'none' ? run() : runOnce(ctx, actor, { operation, rawInput, options, run })
  }
  return ctx.telemetry.operation(operation.name, () => orUnavailable(work))
}

/** Runs work on the database; a failure that says nothing about the work is `service_unavailable`: try again. */
export async function orUnavailable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw isTransient(error) ? new AppError('service_unavailable', { cause: error, retryAfterSeconds: 1 }) : error
  }
}

/** How each access checks the caller; a key of the wrong side is told so, and nobody is asked for a key. */
const ADMIT: { readonly [A in Access]: (actor: Actor) => ActorsByAccess[A] } = {
  public: (actor) => actor,
  buyer: admitBuyer,
  'buyer-account': (actor) => requireUnbounded(admitBuyer(actor)),
  seller: (actor) => {
    if (actor.kind === 'session') return sideOf(actor, 'seller')
    return actor.kind === 'seller' ? actor : refuse(actor)
  },
  session: (actor) => (actor.kind === 'session' ? actor : refuse(actor)),
  org: (actor) => (actor.kind === 'org' || actor.kind === 'session' ? actor : refuse(actor)),
  operator: (actor) => {
    if (actor.kind === 'operator') return actor
    if (actor.kind === 'org') throw new AppError('forbidden')
    return refuse(actor)
  },
}

function admitBuyer(actor: Actor): BuyerActor {
  if (actor.kind === 'session') return sideOf(actor, 'buyer')
  return actor.kind === 'buyer' ? actor : refuse(actor)
}

/**
 * Refuses a key that is to spend within bounds: it could lift them, get hold of a key that has none, silence the alerts of
 * the account or change how its other keys buy. Throws `forbidden`.
 */
export function requireUnbounded(actor: BuyerActor): BuyerActor {
  if (!actor.isBounded) return actor
  const message = 'A key with a cap or a list of models changes nothing of the account: use one without, or the wallet.'
  throw new AppError('forbidden', { message, detail: { key_id: actor.keyId } })
}

function refuse(actor: Actor): never {
  throw new AppError(actor.kind === 'nobody' ? 'authentication_required' : 'wrong_key_type')
}

/** Most problems of one input that are told. */
const MAX_PROBLEMS = 20

/**
 * Validates what came through a door; the first problem becomes the sentence and the field of the error, and all of them
 * stand in its list where there are more.
 */
export function parseInput<Input extends z.ZodType>(schema: Input, raw: unknown): z.output<Input> {
  const parsed = schema.safeParse(raw, { error: inputSentence })
  if (parsed.success) return parsed.data
  const problems = parsed.error.issues.slice(0, MAX_PROBLEMS).map(({ path, message }) => {
    const param = path.map(String).join('.')
    return { param: param === '' ? null : param, message }
  })
  const [first] = problems
  if (first === undefined) throw new AppError('invalid_request')
  throw new AppError('invalid_request', {
    message: first.message,
    ...(first.param === null ? {} : { param: first.param }),
    ...(problems.length > 1 ? { problems } : {}),
  })
}

/** How long a stored answer is replayed, and after how long a run that never ended may be tried again. */
const REPLAY_MS = DAY
const RUN_LEASE_MS = 60 * SECOND
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

type Once<Output> = {
  readonly operation: { readonly name: string } & Replay<Output>
  readonly rawInput: unknown
  readonly options: InvokeOptions
  readonly run: () => Promise<Output>
}

async function runOnce<Output>(ctx: Ctx, actor: Actor, once: Once<Output>): Promise<Output> {
  const { operation, options, run } = once
  if (operation.idempotency === 'none') return run()
  const key = options.idempotencyKey
  if (key === undefined) {
    if (operation.idempotency === 'required') throw new AppError('idempotency_key_required')
    return run()
  }
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw new AppError('invalid_request', { message: 'An Idempotency-Key is 1 to 255 printable ASCII characters.' })
  }
  const now = ctx.clock.now()
  const place = { tenant: scopeOf(actor), operation: operation.name, key }
  const claim = await claimIdempotencyKey(ctx.db, {
    ...place,
    requestHash: hashRequest(once.rawInput, ctx.settings.fingerprintPepper),
    now,
    expiresAt: now + REPLAY_MS,
    leaseUntil: now + RUN_LEASE_MS,
  })
  if (claim.state === 'reused') throw new AppError('idempotency_key_reused')
  if (claim.state === 'running') throw new AppError('idempotency_in_progress', { retryAfterSeconds: 1 })
  if (claim.state === 'done') return operation.output.parse(claim.answer)
  let output: Output
  try {
    output = await run()
  } catch (error) {
    // What failed has changed nothing: the same key may try again.
    await deleteIdempotencyKey(ctx.db, place, claim.claimedAt).catch((problem: unknown) =>
      ctx.log.error({ err: problem, operation: operation.name }, 'an idempotency key was not freed'),
    )
    throw error
  }
  const store = (stored: unknown) =>
    finishIdempotencyKey(ctx.db, { place, claimedAt: claim.claimedAt, answer: JSON.stringify(stored) }).catch(
      // The work is done and its answer stands; only a repeat of the key within the lease would now have to wait.
      (error: unknown) =>
        ctx.log.error({ err: error, operation: operation.name }, 'an idempotent answer was not stored'),
    )
  if (operation.endAfter) return operation.endAfter(output, store)
  await store(operation.forReplay ? operation.forReplay(output) : output)
  return output
}

/** A keyed hash: request bodies hold provider keys, and a bare hash of one could be guessed against. */
function hashRequest(rawInput: unknown, pepper: Secret): string {
  return createHmac('sha256', pepper.reveal()).update(canonicalJson(rawInput)).digest('hex')
}

/** JSON with the keys of every object in order, so that equal requests are equal texts. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)))
      : part,
  )
}

async function audit(ctx: Ctx, actor: Actor, operation: string, changes: readonly Change[]): Promise<void> {
  const at = ctx.clock.now()
  const nothing = { subject: null, before: null, after: null, by: undefined, organization: undefined }
  const home = 'workspace' in actor ? actor.workspace?.organization : undefined
  const entries = changes.length === 0 ? [nothing] : changes
  const rows = entries.map(({ by, organization = home, ...change }) => ({
    id: ctx.ids.make('aud'),
    at,
    actorKind: actor.kind,
    actor: by ?? tenantOf(actor),
    keyId: 'keyId' in actor ? actor.keyId : null,
    operation,
    organization: organization ?? null,
    ...change,
  }))
  // What was done stands, so its caller is told so; the log then holds what the table does not.
  await insertAuditEntries(ctx.db, rows).catch((error: unknown) =>
    ctx.log.error({ err: error, rows }, 'audit rows were not stored'),
  )
}
