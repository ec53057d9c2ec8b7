import { createHmac } from 'node:crypto'
import type { z } from 'zod'
import { claimIdempotencyKey, deleteIdempotencyKey, finishIdempotencyKey } from '#control-plane/db/idempotency.ts'
import { DAY, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { Secret } from '#shared/secret.ts'
import type { Actor } from './actor.ts'
import { scopeOf } from './actor.ts'
import type { Ctx } from './ctx.ts'

/** Operations with an idempotency key keep their answer as JSON. */
export type Replay<Output> =
  | { readonly idempotency: 'none' }
  | {
      readonly idempotency: 'required' | 'accepted'
      /** Reads the stored answer of the first run, where `output` cannot. */
      readonly stored?: z.ZodType<Output>
      /** What of an answer is stored: without secrets. All of it when left out. */
      readonly forReplay?: (output: Output) => Output
      /**
       * For an answer that goes on after it was given, like a stream of lines. It calls `last` once the work is over, with
       * what is to be stored in the form that `stored` reads. The answer that it returns ends only after `last` has: a caller
       * who has read all of it and asks again is given the same. Neither `last` nor the wait for it rejects.
       */
      readonly endAfter?: (output: Output, last: (stored: unknown) => Promise<void>) => Output
    }

/** How long a stored answer is replayed, and after how long a run that never ended may be tried again. */
const REPLAY_MS = DAY
const RUN_LEASE_MS = 60 * SECOND
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

type OnceCtx = Pick<Ctx, 'db' | 'clock' | 'log' | 'settings'>

type Once<Output> = {
  readonly operation: { readonly name: string; readonly output: z.ZodType<Output> } & Replay<Output>
  readonly rawInput: unknown
  /** What the caller sent as `Idempotency-Key`. */
  readonly key: string | undefined
  readonly run: () => Promise<Output>
}

/**
 * Runs an operation at most once for a key of a caller: a repeat is given the stored answer. Throws
 * `idempotency_key_required`, `idempotency_key_reused` for another input, and `idempotency_in_progress`.
 */
export async function runOnce<Output>(ctx: OnceCtx, actor: Actor, once: Once<Output>): Promise<Output> {
  const { operation, key, run } = once
  if (operation.idempotency === 'none') return run()
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
  if (claim.state === 'done') return (operation.stored ?? operation.output).parse(claim.answer)
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
