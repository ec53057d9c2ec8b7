import { z } from 'zod'
import type { Database } from '#control-plane/db/database.ts'
import { findJob } from '#control-plane/db/jobs.ts'
import type { PaidCall } from '#control-plane/db/payment-views.ts'
import {
  findCarriedCalls,
  findPaidCall,
  findPayerOf,
  listCallsOfTransaction,
  listUnbookedCalls,
} from '#control-plane/db/payment-views.ts'
import type { SettledCall } from '#control-plane/db/settlements.ts'
import { findSettledCall, listSettledCalls } from '#control-plane/db/settlements.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { TransactionHash } from '#control-plane/services/input-fields.ts'
import { mediaUnitsOfRow } from '#control-plane/services/media-units.ts'
import { cursorOf, NextToken, PageToken } from '#control-plane/services/page.ts'
import type { PaymentFacts } from '#control-plane/services/payments/payment-standing.ts'
import { standingByPayment } from '#control-plane/services/payments/payment-standing.ts'
import type { LookupRecord } from '#shared/contract/lookup.ts'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import { isChainRail, settlementTypeOf } from '#shared/contract/rails.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId, RequestId } from '#shared/ids.ts'
import { parseAnswerId, parseRequestId, ulidTime } from '#shared/ids.ts'
import {
  begunRecordOf,
  lookupRecordOf,
  mediaMembers,
  publicAttempts,
  RUNNING_JOB,
  routingOf,
  standingOf,
} from '#shared/lookup-record.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'

/**
 * Makes the lookup record of a booked call from its settlement row, and its payment if a wallet paid. The data plane
 * makes the same record from the event.
 */
function lookupOfCall(call: SettledCall, payment: PaymentFacts | undefined): LookupRecord {
  const { charge, outcome, error_code: errorCode, rail } = call
  const ended = { charge, outcome, errorCode, rail }
  const standing =
    payment === undefined ? standingOf(ended, call.posted_at.getTime()) : standingByPayment(ended, payment)
  return {
    request_id: call.rid,
    model: call.model,
    provider: call.provider,
    served_by: call.served_by,
    settlement_type: settlementTypeOf(call.rail),
    ...standing,
    buyer_cost_micro: Number(call.charge),
    list_cost_micro: Number(call.list_cost),
    attempts: publicAttempts(call.attempts),
    created_at: call.started_at.getTime(),
    streamed: call.is_streamed,
    cancelled: call.outcome === 'cancelled',
    finish_reason: call.finish_reason,
    input_tokens: Number(
      call.input_tokens + call.cache_read_tokens + call.cache_write_tokens + call.audio_input_tokens,
    ),
    output_tokens: Number(call.output_tokens + call.reasoning_tokens + call.audio_output_tokens),
    cache_read_tokens: Number(call.cache_read_tokens),
    cache_write_tokens: Number(call.cache_write_tokens),
    reasoning_tokens: Number(call.reasoning_tokens),
    ...mediaMembers(
      mediaUnitsOfRow({
        ...call,
        imageInput: call.image_input_tokens,
        imageOutput: call.image_output_tokens,
        images2k: call.images_2k,
        images4k: call.images_4k,
        milliseconds1080p: call.milliseconds_1080p,
        milliseconds4k: call.milliseconds_4k,
      }),
    ),
    searches: Number(call.searches),
    price_conditions: [...call.price_conditions],
    ttft_ms: call.ttft_ms,
    duration_ms: call.duration_ms,
    overhead_ms: Math.round(call.overhead_ms),
    routing: routingOf(call.explanation),
  }
}

/** The lookup record of an unbooked call that a wallet pays. */
function lookupOfPayment(payment: PaidCall): LookupRecord {
  const event = payment.event === null ? undefined : readUsageEvent(payment.event)
  if (event !== undefined) {
    const { chargeMicro: charge, outcome, errorCode, rail } = event
    return lookupRecordOf(event, standingByPayment({ charge, outcome, errorCode, rail }, payment))
  }
  const { rid, rail, state, transaction, serveUntil, changedAt, bookedAt } = payment
  const begunRecord = begunRecordOf({ rid, startedAt: ulidTime(rid), settlementType: settlementTypeOf(rail) })
  // A call reports its end before this time, unless its process died.
  const isLost = bookedAt !== null || (state === 'released' && serveUntil.getTime() < changedAt.getTime())
  return {
    ...begunRecord,
    tx_hash: transaction,
    ...(isLost ? { settlement_status: 'failed', settlement_error: 'expired' } : {}),
  }
}

/** The lookup records of booked calls. */
export async function lookupsOf(db: Database, calls: readonly SettledCall[]): Promise<LookupRecord[]> {
  const carried = calls.filter(({ rail }) => isChainRail(rail)).map(({ rid }) => rid)
  const payments = await findCarriedCalls(db, carried)
  return calls.map((call) => lookupOfCall(call, payments.get(call.rid)))
}

/** Finds an account's call in any state: booked, paid by a wallet and unbooked, or a running job. */
export async function findLookup(db: Database, account: AccountId, rid: RequestId): Promise<LookupRecord | undefined> {
  // The payment is read first, so a call that is booked between the two reads is in both.
  const payment = await findPaidCall(db, account, rid)
  const call = await findSettledCall(db, account, rid)
  if (call !== undefined) return lookupOfCall(call, payment)
  if (payment !== undefined) return lookupOfPayment(payment)
  const job = await findJob(db, account, rid)
  const submit = job === undefined ? undefined : readUsageEvent(job.event)
  return submit && lookupRecordOf(submit, RUNNING_JOB)
}

/**
 * Reads one call of the buyer by its request id, once it is booked. A call that a wallet pays is found from its
 * admission on, a long job from its submit on. Throws `not_found`.
 */
export const getRequest = defineOperation({
  name: 'request.get',
  summary: 'Get a call',
  about:
    'The call’s cost, provider, route and payment. The id is the x-request-id header. Without a key, you get only the payment of a call that a wallet paid.',
  access: 'buyer',
  input: z.strictObject({ id: oneLine(64) }),
  limit: 'read',
  idempotency: 'none',
  output: LookupRecordSchema,
  run: async (ctx, actor, input): Promise<LookupRecord> => {
    const rid = parseAnswerId(input.id)
    const lookup = rid === undefined ? undefined : await findLookup(ctx.db, actor.account, rid)
    if (lookup === undefined) throw new AppError('not_found')
    return lookup
  },
})

/** The settlement of a call: the members of its look-up about the payer and the chain only. */
export const PaymentRecordSchema = LookupRecordSchema.pick({
  request_id: true,
  settlement_status: true,
  settlement_type: true,
  settlement_error: true,
  confirmed_at: true,
  buyer_cost_micro: true,
  tx_hash: true,
}).meta({
  id: 'PaymentRecord',
  description: 'The payment of a call by a wallet: its amount, its state and its transaction.',
})
export type PaymentRecord = z.infer<typeof PaymentRecordSchema>

/**
 * Reads the settlement of a call that a wallet paid, for anybody with its request id: a payer by wallet has no key.
 * Throws `authentication_required` for any other id, known or not.
 */
export const readPayment = defineOperation({
  name: 'payment.read',
  summary: 'Get the payment of a call',
  about: 'Needs no key, only the request id of a paid call.',
  access: 'public',
  input: z.strictObject({ id: oneLine(64) }),
  limit: 'read',
  idempotency: 'none',
  output: PaymentRecordSchema,
  run: async (ctx, _actor, { id }): Promise<PaymentRecord> => {
    const rid = parseAnswerId(id)
    const account = rid === undefined ? undefined : await findPayerOf(ctx.db, rid)
    const lookup = rid && account && (await findLookup(ctx.db, account, rid))
    if (!lookup) throw new AppError('authentication_required')
    const { request_id, settlement_status, settlement_type, settlement_error, confirmed_at } = lookup
    const { buyer_cost_micro, tx_hash } = lookup
    const settlementPart = { request_id, settlement_status, settlement_type, settlement_error, confirmed_at }
    return { ...settlementPart, buyer_cost_micro, tx_hash }
  },
})

const DEFAULT_PAGE_SIZE = 20
const RequestPageSize = wholeNumber(1, 100)

const RequestPageSchema = z.object({
  requests: z.array(LookupRecordSchema),
  nextToken: NextToken,
  /** The last request id of the page, for `before`; null on the last page. */
  next: z.string().nullable(),
  cursorOf: cursorOf<LookupRecord>(),
})
export type RequestPage = z.infer<typeof RequestPageSchema>

/**
 * Lists the buyer's calls that are over, newest first. Two inputs have older names: `limit` for `maxItems`, and
 * `before`, a request id, for `nextToken`.
 */
export const listRequests = defineOperation({
  name: 'request.list',
  summary: 'List calls, newest first',
  about: 'Calls of the account with their states and costs.',
  example: { limit: 5 },
  access: 'buyer',
  input: z.strictObject({
    maxItems: RequestPageSize.optional(),
    nextToken: PageToken.optional(),
    limit: RequestPageSize.optional(),
    before: z
      .string()
      .refine((text) => parseRequestId(text) !== undefined, 'a request id must be 26 characters')
      .optional(),
    /** Only calls that this transaction of the chain paid for. */
    transaction: TransactionHash.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: RequestPageSchema,
  run: async (ctx, actor, input): Promise<RequestPage> => {
    const size = oneOf(['maxItems', input.maxItems], ['limit', input.limit]) ?? DEFAULT_PAGE_SIZE
    const { transaction } = input
    const filters = transaction === undefined ? {} : { filters: [transaction] }
    const scope = { list: 'request.list', tenant: actor.account, ...filters }
    const after = input.nextToken === undefined ? undefined : readCursor(ctx, scope, input.nextToken)
    const before = oneOf(['nextToken', after], ['before', input.before])
    // An extra row shows whether another page follows.
    const page = { before, limit: size + 1 }
    const calls =
      transaction === undefined
        ? await newestLookups(ctx.db, actor.account, page)
        : await lookupsOfTransaction(ctx.db, actor.account, transaction, page)
    const shownCalls = calls.slice(0, size)
    const next = calls.length > size ? (shownCalls.at(-1)?.request_id ?? null) : null
    const cursorAfter = ({ request_id: id }: LookupRecord) => signCursor(ctx, scope, id)
    const nextToken = next === null ? null : signCursor(ctx, scope, next)
    return { requests: shownCalls, nextToken, next, cursorOf: cursorAfter }
  },
})

type Page = { readonly before: string | undefined; readonly limit: number }

/** An account's calls that are over, newest first: booked ones, and those that wait for the chain. */
async function newestLookups(db: Database, account: AccountId, page: Page): Promise<LookupRecord[]> {
  // Payments are read first, so a call that is booked between the two reads is in both.
  const waiting = await listUnbookedCalls(db, account, page)
  const lookups = await lookupsOf(db, await listSettledCalls(db, account, page))
  const bookedIds = new Set(lookups.map((record) => record.request_id))
  const open = waiting.filter(({ rid }) => !bookedIds.has(rid)).map(lookupOfPayment)
  const all = [...lookups, ...open].sort((left, right) => (left.request_id < right.request_id ? 1 : -1))
  return all.slice(0, page.limit)
}

/** An account's calls that one transaction paid for, newest first. */
async function lookupsOfTransaction(db: Database, account: AccountId, transaction: string, page: Page) {
  const rids = await listCallsOfTransaction(db, account, transaction, page)
  const lookups = await Promise.all(rids.map((rid) => findLookup(db, account, rid)))
  return lookups.filter((record) => record !== undefined)
}

/** The value of a member with two names. Throws `invalid_request` when both are given. */
function oneOf<Value>([name, value]: Named<Value>, [olderName, older]: Named<Value>): Value | undefined {
  if (value !== undefined && older !== undefined) {
    const message = `${olderName} is another name of ${name}. Send only one of them.`
    throw new AppError('invalid_request', { message, param: olderName })
  }
  return value ?? older
}

type Named<Value> = readonly [name: string, value: Value | undefined]
