import { createHmac } from 'node:crypto'
import type { z } from 'zod'
import { claimIdempotencyKey, deleteIdempotencyKey, finishIdempotencyKey } from '#control-plane/db/idempotency.ts'
import { DAY, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { Secret } from '#shared/secret.ts'
import type { Actor } from './actor.ts'
import { scopeOf } from './actor.ts'
import type { Ctx } from './ctx.ts'

/** Whether an operation takes an idempotency key. Such an operation stores its answer as JSON. */
export type Replay<Output> =
  | { readonly idempotency: 'none' }
  | {
      readonly idempotency: 'required' | 'accepted'
      /** Parses the stored answer of the first run, when `output` cannot. */
      readonly stored?: z.ZodType<Output>
      /** The part of an answer that is stored, without secrets; the whole answer by default. */
      readonly forReplay?: (output: Output) => Output
      /**
       * For an answer that continues after its return, like a stream of lines. It calls `last` when the work is over,
       * with the text to store, in the form that `stored` parses. The returned answer ends only after `last` has ended,
       * so a caller who has read all of it and repeats the call gets the same answer. Neither `last` nor the wait for
       * it rejects.
       */
      readonly endAfter?: (output: Output, last: (value: unknown) => Promise<void>) => Output
    }

/** Time for which a stored answer is replayed, and time after which an unfinished run may be tried again. */
const REPLAY_MS = DAY
const RUN_LEASE_MS = 60 * SECOND
const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

type OnceCtx = Pick<Ctx, 'db' | 'clock' | 'log' | 'settings'>

type Once<Output> = {
  readonly operation: { readonly name: string; readonly output: z.ZodType<Output> } & Replay<Output>
  readonly rawInput: unknown
  /** The caller's `Idempotency-Key` header. */
  readonly key: string | undefined
  readonly run: () => Promise<Output>
}

/**
 * Runs an operation at most once for each key of a caller. A repeat gets the stored answer. Throws
 * `idempotency_key_required`, `idempotency_key_reused` when the input differs, and `idempotency_in_progress`.
 */
export async function runOnce<Output>(ctx: OnceCtx, actor: Actor, once: Once<Output>): Promise<Output> {
  const { operation, key, run } = once
  if (operation.idempotency === 'none') return run()
  if (key === undefined) {
    if (operation.idempotency === 'required') throw new AppError('idempotency_key_required')
    return run()
  }
  if (!IDEMPOTENCY_KEY.test(key)) {
    throw new AppError('invalid_request', {
      message: 'An Idempotency-Key must be 1 to 255 printable ASCII characters.',
    })
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
    // A failed run has changed nothing, so the same key may be used again.
    await deleteIdempotencyKey(ctx.db, place, claim.claimedAt).catch((problem: unknown) =>
      ctx.log.error({ err: problem, operation: operation.name }, 'an idempotency key was not freed'),
    )
    throw error
  }
  const store = (value: unknown) =>
    finishIdempotencyKey(ctx.db, { place, claimedAt: claim.claimedAt, answer: JSON.stringify(value) }).catch(
      // The work is done and its answer stays. Only a request that repeats the key within the lease has to wait.
      (error: unknown) =>
        ctx.log.error({ err: error, operation: operation.name }, 'an idempotent answer was not stored'),
    )
  if (operation.endAfter) return operation.endAfter(output, store)
  await store(operation.forReplay ? operation.forReplay(output) : output)
  return output
}

/** A keyed hash. Request bodies hold provider keys, and an attacker could test guesses against a plain hash. */
function hashRequest(rawInput: unknown, pepper: Secret): string {
  return createHmac('sha256', pepper.reveal()).update(canonicalJson(rawInput)).digest('hex')
}

/** JSON with the members of every object sorted by name, so that equal requests have equal texts. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    part !== null && typeof part === 'object' && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([left], [right]) => (left < right ? -1 : 1)))
      : part,
  )
}
