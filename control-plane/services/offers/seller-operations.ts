import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
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
import { oneLine } from '#shared/texts.ts'
import { isTransient } from '#shared/transient.ts'

/** Offers in one transaction. Small steps keep locks short and progress visible. */
const STEP_OFFERS = 500
/** Most operations in one turn. */
const MAX_OPEN = 100
/** Time for which a finished operation can be read. */
const KEPT_MS = 30 * DAY
const PURGE_BATCH = 1_000

type Event = 'step' | 'last-step' | 'break'
type Step = { readonly to: SellerOperationStatus } | { readonly refusal: 'conflict' }
const over: { readonly [E in Event]: Step } = {
  step: { refusal: 'conflict' },
  'last-step': { refusal: 'conflict' },
  break: { refusal: 'conflict' },
}

/** Every state of an operation and every event. */
const OPERATION_STEPS: {
  readonly [S in SellerOperationStatus]: { readonly [E in Event]: Step }
} = {
  pending: { step: { to: 'running' }, 'last-step': { to: 'succeeded' }, break: { to: 'failed' } },
  running: { step: { to: 'running' }, 'last-step': { to: 'succeeded' }, break: { to: 'failed' } },
  succeeded: over,
  failed: over,
}

/** The progress of an operation for its seller. */
export type OperationView = {
  readonly operationId: OperationId
  readonly status: SellerOperationStatus
  readonly processed: number
  readonly total: number
  readonly failedCount: number
}

export const OperationViewSchema = z
  .object({
    operationId: z
      .custom<OperationId>((value) => typeof value === 'string' && isId('opn', value))
      .meta({ type: 'string' }),
    status: z.enum(['pending', 'running', 'succeeded', 'failed']),
    processed: z.number(),
    total: z.number(),
    failedCount: z.number(),
  })
  .meta({
    id: 'SellerOperation',
    description: 'A change of many offers that continues after its answer, and its progress.',
  })

export function viewOperation({ id, status, processed, total, failedCount }: SellerOperation): OperationView {
  return { operationId: id, status, processed, total, failedCount }
}

/** Takes every active offer of the caller off the market in the background. A second operation finds no offers left. */
export const bulkCancelOffers = defineOperation({
  name: 'offer.bulk-cancel',
  summary: 'Cancel every active offer',
  about: 'Runs in the background. Get the operation by its id to follow it.',
  example: {},
  access: 'seller',
  input: z.strictObject({}),
  limit: 'write',
  idempotency: 'accepted',
  output: OperationViewSchema,
  run: async (ctx, actor): Promise<OperationView> => {
    const id = ctx.ids.make('opn')
    const begin = async (trx: Trx) => {
      await insertBulkCancel(trx, { id, seller: actor.account, at: ctx.clock.now() })
      const sellerOperation = await findSellerOperation(trx, actor.account, id)
      if (sellerOperation === undefined) throw new AppError('internal_error')
      return sellerOperation
    }
    const found = await ctx.change(begin, ({ total }) => ({
      subject: id,
      before: null,
      after: { kind: 'bulk_cancel', total },
    }))
    if (found.total > 0) await ctx.wake('seller-operations')
    return viewOperation(found)
  },
})

/** Reads the progress of the caller's operation. Throws `not_found`, also for another seller's operation. */
export const getSellerOperation = defineOperation({
  name: 'operation.get',
  summary: 'Get a background operation',
  about: 'The progress of a change that continues after its answer.',
  access: 'seller',
  input: z.strictObject({ id: oneLine(100) }),
  limit: 'read',
  idempotency: 'none',
  output: OperationViewSchema,
  run: async (ctx, actor, { id }): Promise<OperationView> => {
    const sellerOperation = isId('opn', id) ? await findSellerOperation(ctx.db, actor.account, id) : undefined
    if (sellerOperation === undefined) throw new AppError('not_found')
    return viewOperation(sellerOperation)
  },
})

type WorkCtx = Pick<Ctx, 'db' | 'clock' | 'publication' | 'announce' | 'log'>

/**
 * Runs every open operation to its end. When a process dies, the next turn does the rest. Returns the number of steps.
 */
export async function runSellerOperations(ctx: WorkCtx): Promise<number> {
  let steps = 0
  for (const { id, total } of await listOpenOperations(ctx.db, MAX_OPEN)) {
    const most = Math.ceil(total / STEP_OFFERS) + 1
    try {
      for (let step = 0; step < most && (await takeStep(ctx, id)); step++) steps++
    } catch (error) {
      // A transient error is retried at the next turn. Any other error would recur.
      if (isTransient(error)) throw error
      ctx.log.error({ err: error, operation: id }, 'an operation of a seller failed')
      await transact(ctx.db, (trx) => failSellerOperation(trx, id, ctx.clock.now()))
      ctx.announce('operations', [id])
    }
  }
  return steps
}

/** Runs one step of an operation. Returns false at its end, and when another worker has it. */
async function takeStep(ctx: WorkCtx, id: OperationId): Promise<boolean> {
  const at = ctx.clock.now()
  const models = await transact(ctx.db, async (trx) => {
    const operation = await lockOpenOperation(trx, id)
    if (operation === undefined) return undefined
    const cancelled = await cancelNextOffers(trx, id, { limit: STEP_OFFERS, at })
    const processed = operation.processed + cancelled.items
    const next = OPERATION_STEPS[operation.status][processed >= operation.total ? 'last-step' : 'step']
    if ('refusal' in next) return undefined
    await updateSellerOperation(trx, id, { status: next.to, processed, at })
    return cancelled.models
  })
  if (models === undefined) return false
  ctx.announce('operations', [id])
  await ctx.publication.publishOffers(models)
  return true
}

/** Removes operations that ended long ago. Returns their number. */
export function purgeSellerOperations(ctx: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  return deleteOldOperations(ctx.db, ctx.clock.now() - KEPT_MS, PURGE_BATCH)
}
