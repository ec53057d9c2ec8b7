import { z } from 'zod'
import { isTransient, transact } from '#control-plane/db/database.ts'
import type { SellerOperation } from '#control-plane/db/seller-operations.ts'
import {
  cancelNextOffers,
  deleteOldOperations,
  failSellerOperation,
  findSellerOperation,
  insertBulkCancel,
  listOpenOperations,
  lockOpenOperation,
  updateSellerOperation,
} from '#control-plane/db/seller-operations.ts'
import type { SellerOperationStatus } from '#control-plane/db/tables/offers.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { DAY } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { OperationId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'

/** Offers that go in one transaction, so that progress is seen and nobody waits long for a lock. */
const STEP_OFFERS = 500
/** Operations that one look works on. */
const MAX_OPEN = 100
/** How long the end of an operation can be asked for. */
const KEPT_MS = 30 * DAY
const PURGE_BATCH = 1_000

type Event = 'step' | 'last-step' | 'break'
type Step = { readonly to: SellerOperationStatus } | { readonly refusal: 'conflict' }
const over: { readonly [E in Event]: Step } = {
  step: { refusal: 'conflict' },
  'last-step': { refusal: 'conflict' },
  break: { refusal: 'conflict' },
}

/** Every state of an operation and everything that can happen to it. */
const OPERATION_STEPS: {
  readonly [S in SellerOperationStatus]: { readonly [E in Event]: Step }
} = {
  pending: { step: { to: 'running' }, 'last-step': { to: 'succeeded' }, break: { to: 'failed' } },
  running: { step: { to: 'running' }, 'last-step': { to: 'succeeded' }, break: { to: 'failed' } },
  succeeded: over,
  failed: over,
}

/** How far an operation is, as its seller sees it. */
export type OperationView = {
  readonly operationId: OperationId
  readonly status: SellerOperationStatus
  readonly processed: number
  readonly total: number
  readonly failedCount: number
}

export const OperationViewSchema = z.object({
  operationId: z.custom<OperationId>((value) => typeof value === 'string' && isId('opn', value)),
  status: z.enum(['pending', 'running', 'succeeded', 'failed']),
  processed: z.number(),
  total: z.number(),
  failedCount: z.number(),
})

/** An operation as its seller sees it. */
export function viewOperation({ id, status, processed, total, failedCount }: SellerOperation): OperationView {
  return { operationId: id, status, processed, total, failedCount }
}

/** Takes every active offer of the caller off the market, in the background. Begun twice, the second has none left. */
export const bulkCancelOffers = defineOperation({
  name: 'offer.bulk-cancel',
  access: 'seller',
  input: z.object({}),
  limit: 'write',
  idempotency: 'accepted',
  output: OperationViewSchema,
  run: async (ctx, actor): Promise<OperationView> => {
    const id = ctx.ids.make('opn')
    const found = await transact(ctx.db, async (trx) => {
      await insertBulkCancel(trx, { id, seller: actor.account, at: ctx.clock.now() })
      return findSellerOperation(trx, actor.account, id)
    })
    if (found === undefined) throw new AppError('internal_error')
    ctx.note({ subject: id, before: null, after: { kind: 'bulk_cancel', total: found.total } })
    if (found.total > 0) await ctx.wake('seller-operations')
    return viewOperation(found)
  },
})

/** How far an operation of the caller is. Throws `not_found`, for another seller's too. */
export const getSellerOperation = defineOperation({
  name: 'operation.get',
  access: 'seller',
  input: z.object({ id: z.string().max(100) }),
  limit: 'read',
  idempotency: 'none',
  output: OperationViewSchema,
  run: async (ctx, actor, { id }): Promise<OperationView> => {
    const found = isId('opn', id) ? await findSellerOperation(ctx.db, actor.account, id) : undefined
    if (found === undefined) throw new AppError('not_found')
    return viewOperation(found)
  },
})

type WorkCtx = Pick<Ctx, 'db' | 'clock' | 'publication' | 'announce' | 'log'>

/** Works on every open operation to its end; a process that dies leaves the rest to the next look. Answers the steps. */
export async function runSellerOperations(ctx: WorkCtx): Promise<number> {
  let steps = 0
  for (const { id, total } of await listOpenOperations(ctx.db, MAX_OPEN)) {
    const most = Math.ceil(total / STEP_OFFERS) + 1
    try {
      for (let step = 0; step < most && (await takeStep(ctx, id)); step++) steps++
    } catch (error) {
      // What says nothing about the work is tried again at the next look; anything else would only come again.
      if (isTransient(error)) throw error
      ctx.log.error({ err: error, operation: id }, 'an operation of a seller failed')
      await transact(ctx.db, (trx) => failSellerOperation(trx, id, ctx.clock.now()))
      ctx.announce('operations', [id])
    }
  }
  return steps
}

/** One step of an operation; false when nothing is left of it, or somebody else is at it. */
async function takeStep(ctx: WorkCtx, id: OperationId): Promise<boolean> {
  const at = ctx.clock.now()
  const models = await transact(ctx.db, async (trx) => {
    const operation = await lockOpenOperation(trx, id)
    if (operation === undefined) return undefined
    const done = await cancelNextOffers(trx, id, { limit: STEP_OFFERS, at })
    const processed = operation.processed + done.items
    const next = OPERATION_STEPS[operation.status][processed >= operation.total ? 'last-step' : 'step']
    if ('refusal' in next) return undefined
    await updateSellerOperation(trx, id, { status: next.to, processed, at })
    return done.models
  })
  if (models === undefined) return false
  ctx.announce('operations', [id])
  await ctx.publication.publishOffers(models)
  return true
}

/** Forgets operations that ended long ago; answers how many. */
export function purgeSellerOperations(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  return deleteOldOperations(ctx.db, ctx.clock.now() - KEPT_MS, PURGE_BATCH)
}
