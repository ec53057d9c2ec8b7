import { z } from 'zod'
import { findJob } from '#control-plane/db/jobs.ts'
import type { SettledCall } from '#control-plane/db/settlements.ts'
import { findSettledCall, listSettledCalls } from '#control-plane/db/settlements.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { cursorOf, NextToken, PageToken } from '#control-plane/services/page.ts'
import type { LookupRecord } from '#shared/contract/lookup.ts'
import { LookupRecordSchema } from '#shared/contract/lookup.ts'
import { settlementTypeOf } from '#shared/contract/rails.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import { parseAnswerId, parseRequestId } from '#shared/ids.ts'
import { lookupRecordOf, RUNNING_JOB, routingOf, standingOf } from '#shared/lookup-record.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'

function publicAttempts(attempts: readonly Attempt[]): LookupRecord['attempts'] {
  return attempts.map(({ provider, status, ms }) => ({ provider, status, ms }))
}

/**
 * Makes the lookup record of a booked call from its settlement row. The data plane makes the same record from the
 * event.
 */
export function lookupOfCall(call: SettledCall): LookupRecord {
  const { charge, outcome, error_code: errorCode, rail } = call
  return {
    request_id: call.rid,
    model: call.model,
    provider: call.provider,
    served_by: call.served_by,
    settlement_type: settlementTypeOf(call.rail),
    ...standingOf({ charge, outcome, errorCode, rail }, call.posted_at.getTime()),
    buyer_cost_micro: Number(call.charge),
    list_cost_micro: Number(call.list_cost),
    tx_hash: null,
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
    reasoning_tokens: Number(call.reasoning_tokens),
    ttft_ms: call.ttft_ms,
    duration_ms: call.duration_ms,
    routing: routingOf(call.explanation),
  }
}

/**
 * Reads one call of the buyer by its request id, once it is booked. A long job is found from its submit on. Throws
 * `not_found`.
 */
export const getRequest = defineOperation({
  name: 'request.get',
  access: 'buyer',
  input: z.strictObject({ id: oneLine(64) }),
  limit: 'read',
  idempotency: 'none',
  output: LookupRecordSchema,
  run: async (ctx, actor, input): Promise<LookupRecord> => {
    const rid = parseAnswerId(input.id)
    const call = rid === undefined ? undefined : await findSettledCall(ctx.db, actor.account, rid)
    if (call !== undefined) return lookupOfCall(call)
    const job = rid === undefined ? undefined : await findJob(ctx.db, actor.account, rid)
    const submit = job === undefined ? undefined : readUsageEvent(job.event)
    if (submit === undefined) throw new AppError('not_found')
    return lookupRecordOf(submit, RUNNING_JOB)
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
 * Lists the buyer's booked calls, newest first. Older members are `limit` for `maxItems`, and `before`, a request id, for
 * `nextToken`.
 */
export const listRequests = defineOperation({
  name: 'request.list',
  access: 'buyer',
  input: z.strictObject({
    maxItems: RequestPageSize.optional(),
    nextToken: PageToken.optional(),
    limit: RequestPageSize.optional(),
    before: z
      .string()
      .refine((text) => parseRequestId(text) !== undefined, 'not a request id')
      .optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: RequestPageSchema,
  run: async (ctx, actor, input): Promise<RequestPage> => {
    const size = oneOf(['maxItems', input.maxItems], ['limit', input.limit]) ?? DEFAULT_PAGE_SIZE
    const scope = { list: 'request.list', tenant: actor.account }
    const after = input.nextToken === undefined ? undefined : readCursor(ctx, scope, input.nextToken)
    const before = oneOf(['nextToken', after], ['before', input.before])
    // One extra row shows whether another page follows.
    const calls = await listSettledCalls(ctx.db, actor.account, { before, limit: size + 1 })
    const shown = calls.slice(0, size)
    const next = calls.length > size ? (shown.at(-1)?.rid ?? null) : null
    const cursorAfter = ({ request_id: id }: LookupRecord) => signCursor(ctx, scope, id)
    const nextToken = next === null ? null : signCursor(ctx, scope, next)
    return { requests: shown.map(lookupOfCall), nextToken, next, cursorOf: cursorAfter }
  },
})

/** A member that has an older name as well. Throws `invalid_request` when both are given. */
function oneOf<Value>([name, value]: Named<Value>, [olderName, older]: Named<Value>): Value | undefined {
  if (value !== undefined && older !== undefined) {
    const message = `${olderName} is another name of ${name}: give one.`
    throw new AppError('invalid_request', { message, param: olderName })
  }
  return value ?? older
}

type Named<Value> = readonly [name: string, value: Value | undefined]
