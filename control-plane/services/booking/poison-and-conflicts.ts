import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import type { PoisonRow } from '#control-plane/db/poison-and-conflicts.ts'
import {
  findPoison,
  listConflicts,
  listPoison,
  resolveConflict,
  resolvePoison,
} from '#control-plane/db/poison-and-conflicts.ts'
import { tenantOf } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { MoneyLedger } from '#control-plane/ports/ledger/money-ledger.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'
import { freeDiscarded, postBatch } from './ingest.ts'
import { claimedCall, MAX_POISON_CHARS } from './read-event.ts'

/** Times as Unix milliseconds. */
export const PoisonViewSchema = z.object({
  payloadHash: z.string(),
  rid: z.string().nullable(),
  reason: z.string(),
  detail: z.string(),
  source: z.string(),
  firstSeenAt: UnixMs,
  lastSeenAt: UnixMs,
  timesSeen: z.number(),
  resolution: z.enum(['retried', 'discarded']).nullable(),
  resolutionReason: z.string().nullable(),
  resolvedBy: z.string().nullable(),
  /** True when another delivery has settled the call since. */
  isSettled: z.boolean(),
})
export type PoisonView = z.infer<typeof PoisonViewSchema>
export const ConflictViewSchema = z.object({
  rid: z.string(),
  payloadHash: z.string(),
  source: z.string(),
  event: z.string(),
  seenAt: UnixMs,
  resolutionReason: z.string().nullable(),
  resolvedBy: z.string().nullable(),
  /** The charge of the settlement, which stays. */
  settledChargeMicro: MicroDigits.nullable(),
})
export type ConflictView = z.infer<typeof ConflictViewSchema>

const Hash = z.string().regex(/^[0-9a-f]{64}$/, 'a payload hash must be 64 hex digits')
const Reason = oneLine(500).trim().min(1)
const ListInput = z.strictObject({
  /** `waiting` leaves out events that a person has decided on. */
  show: z.enum(['waiting', 'all']).default('waiting'),
  limit: wholeNumber(1, 500).prefault(100),
})

function viewOf({ firstSeenAt, lastSeenAt, ...row }: PoisonRow): PoisonView {
  return { ...row, firstSeenAt: firstSeenAt.getTime(), lastSeenAt: lastSeenAt.getTime() }
}

async function requirePoison(ctx: Pick<Ctx, 'db'>, payloadHash: string) {
  const row = await findPoison(ctx.db, payloadHash)
  if (row === undefined) throw new AppError('not_found')
  return row
}

/** Lists events that could not be posted, oldest first. */
export const listPoisoned = defineOperation({
  name: 'poison.list',
  summary: 'List events that cannot be posted, oldest first',
  access: 'operator',
  input: ListInput,
  limit: 'read',
  idempotency: 'none',
  output: z.array(PoisonViewSchema).readonly(),
  run: async (ctx, _actor, { show, limit }): Promise<readonly PoisonView[]> =>
    (await listPoison(ctx.db, { isWaiting: show === 'waiting', limit })).map(viewOf),
})

/** Reads one event that could not be posted, with its bytes. */
export const readPoisoned = defineOperation({
  name: 'poison.read',
  summary: 'Get an event that cannot be posted',
  access: 'operator',
  input: z.strictObject({ payloadHash: Hash }),
  limit: 'read',
  idempotency: 'none',
  output: PoisonViewSchema.extend({
    event: z.string(),
  }),
  run: async (ctx, _actor, { payloadHash }): Promise<PoisonView & { readonly event: string }> => {
    const { event, ...row } = await requirePoison(ctx, payloadHash)
    return { ...viewOf(row), event }
  },
})

/**
 * Posts an event again after its cause was repaired. Throws `conflict` with the reason when it still cannot be posted.
 */
export const retryPoisoned = defineOperation({
  name: 'poison.retry',
  summary: 'Post an event again',
  access: 'operator',
  input: z.strictObject({ payloadHash: Hash, reason: Reason }),
  limit: 'none',
  idempotency: 'none',
  output: z.object({
    payloadHash: z.string(),
  }),
  run: async (ctx, actor, { payloadHash, reason }): Promise<{ readonly payloadHash: string }> => {
    const row = await requirePoison(ctx, payloadHash)
    if (row.resolution !== null)
      throw new AppError('conflict', { message: `This event has already been ${row.resolution}.` })
    if (row.event.length >= MAX_POISON_CHARS)
      throw new AppError('conflict', { message: 'The event was too long to keep whole.' })
    const decision = { payloadHash, reason, by: tenantOf(actor), resolution: 'retried' } as const
    const ledger = { ...ctx.ledger, transact: deciding(ctx, row, decision) }
    const { poisoned } = await postBatch({ ...ctx, ledger }, { events: [row.event], source: 'operator' })
    if (poisoned > 0) {
      const now = await requirePoison(ctx, payloadHash)
      throw new AppError('conflict', {
        message: 'The event still cannot be posted.',
        detail: { reason: now.reason, detail: now.detail },
      })
    }
    return { payloadHash }
  },
})

/**
 * Posts in the transaction that stores the decision and its audit row. An error of those two is kept apart from a
 * refusal of the event, which would set the event aside again.
 */
function deciding(
  ctx: Pick<RunCtx, 'change' | 'ledger'>,
  row: PoisonRow,
  decision: Parameters<typeof resolvePoison>[1],
): MoneyLedger['transact'] {
  const { payloadHash, reason, resolution } = decision
  return async (post) => {
    let isPosted = false
    const run = async (trx: Trx) => {
      // The decision comes first, so a rival waits here. It is stored already when an earlier commit succeeded and its
      // answer was lost.
      const isNew = await resolvePoison(trx, decision)
      const isDiscarded = !isNew && (await findPoison(trx, payloadHash))?.resolution !== resolution
      if (isDiscarded) throw new AppError('conflict', { message: 'The event was discarded a moment ago.' })
      const posted = await post(moneyTransaction(trx))
      isPosted = true
      return { posted, isNew }
    }
    const change = { subject: row.rid ?? payloadHash, before: { reason: row.reason }, after: { resolution, reason } }
    try {
      const { posted } = await ctx.change(run, ({ isNew }) => (isNew ? change : undefined))
      return posted
    } catch (error) {
      if (!isPosted || ctx.ledger.refusalOf(error) === undefined) throw error
      throw new AppError('internal_error', { cause: error })
    }
  }
}

/** Discards an event. No buyer is charged for its call, and the gate frees what it keeps for it. */
export const discardPoisoned = defineOperation({
  name: 'poison.discard',
  summary: 'Discard an event that cannot be posted',
  about: 'The call of the event stays free.',
  access: 'operator',
  input: z.strictObject({ payloadHash: Hash, reason: Reason }),
  limit: 'none',
  idempotency: 'none',
  output: z.object({
    payloadHash: z.string(),
  }),
  run: async (ctx, actor, { payloadHash, reason }): Promise<{ readonly payloadHash: string }> => {
    const row = await requirePoison(ctx, payloadHash)
    const decision = { payloadHash, reason, by: tenantOf(actor), resolution: 'discarded' } as const
    const isNew = await ctx.change(
      (trx) => resolvePoison(trx, decision),
      (isResolved) =>
        isResolved
          ? {
              subject: row.rid ?? payloadHash,
              before: { reason: row.reason },
              after: { resolution: 'discarded', reason },
            }
          : undefined,
    )
    if (!isNew && row.resolution === 'retried')
      throw new AppError('conflict', { message: 'The event was already posted.' })
    const call = claimedCall(row.event)
    // If this fails, the event's next delivery or the sweeper frees the hold.
    if (call !== undefined && !row.isSettled) await freeDiscarded(ctx, [call])
    return { payloadHash }
  },
})

/** Lists events that contradict a settlement, oldest first, beside the figures of the settlement. */
export const listContradictions = defineOperation({
  name: 'conflict.list',
  summary: 'List events that contradict a settlement, oldest first',
  access: 'operator',
  input: ListInput,
  limit: 'read',
  idempotency: 'none',
  output: z.array(ConflictViewSchema).readonly(),
  run: async (ctx, _actor, { show, limit }): Promise<readonly ConflictView[]> =>
    (await listConflicts(ctx.db, { isWaiting: show === 'waiting', limit })).map(
      ({ seenAt, settledCharge, ...row }) => ({
        ...row,
        seenAt: seenAt.getTime(),
        settledChargeMicro: settledCharge?.toString() ?? null,
      }),
    ),
})

/**
 * Records what a person found out about a contradiction. The settlement does not change. To correct
 * the settlement, book `ledger.adjust` or `ledger.reverse` under a ticket and name the ticket in the reason.
 */
export const resolveContradiction = defineOperation({
  name: 'conflict.resolve',
  summary: 'Record the cause of a contradiction',
  about: 'The settlement stays unchanged.',
  access: 'operator',
  input: z.strictObject({ rid: oneLine(30).min(26), payloadHash: Hash, reason: Reason }),
  limit: 'none',
  idempotency: 'none',
  output: z.object({
    rid: z.string(),
  }),
  run: async (ctx, actor, { rid, payloadHash, reason }): Promise<{ readonly rid: string }> => {
    const resolve = async (trx: Trx) => {
      if (await resolveConflict(trx, { rid, payloadHash, reason, by: tenantOf(actor) })) return
      throw new AppError('not_found', { message: 'No open conflict has this id.' })
    }
    await ctx.change(resolve, () => ({ subject: rid, before: null, after: { resolved: true, reason } }))
    return { rid }
  },
})
