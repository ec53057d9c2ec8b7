import { z } from 'zod'
import type { TokenSums, UsageFilter, UsageInterval, UsageRow, UsageSums } from '#control-plane/db/buyer-usage.ts'
import {
  findUsage,
  listUsage,
  rankUsageGroups,
  sumUsageByTime,
  USAGE_INTERVALS,
} from '#control-plane/db/buyer-usage.ts'
import { findModelByName } from '#control-plane/db/catalog.ts'
import { findCarriedCalls } from '#control-plane/db/payment-views.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { ModelName, PageSize } from '#control-plane/services/input-fields.ts'
import { MediaUnitsSchema, mediaUnitsOfRow } from '#control-plane/services/media-units.ts'
import { PageToken, signedPageOf, signedPageSchema } from '#control-plane/services/page.ts'
import type { PaymentFacts } from '#control-plane/services/payments/payment-standing.ts'
import { standingByPayment } from '#control-plane/services/payments/payment-standing.ts'
import { Count, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { DAY } from '#shared/clock.ts'
import { SETTLEMENT_STATUSES } from '#shared/contract/lookup.ts'
import { isChainRail, SETTLEMENT_TYPES, settlementTypeOf } from '#shared/contract/rails.ts'
import { SERVED_BY, UsageEventSchema } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { standingOf } from '#shared/lookup-record.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'
import type { UsageOrder } from './usage-order.ts'
import { placeCalls, positionOfPlace, SortFields } from './usage-order.ts'
import { readWindow, WindowFields, windowBefore } from './usage-window.ts'

const Name = oneLine(200).min(1)

/** Filters of a buyer's own calls: the same for the list, the buckets and the export. */
export const UsageFilterFields = {
  ...WindowFields,
  model: ModelName.optional(),
  keyId: oneLine(100).optional(),
  provider: Name.optional(),
  endpoint: Name.optional(),
  outcome: z.enum(['succeeded', 'failed', 'cut', 'cancelled']).optional(),
  servedBy: z.enum(SERVED_BY).optional(),
}
const Filter = z.strictObject(UsageFilterFields)
const USUAL_PERIOD = '30d'

/**
 * Resolves the input of a filter. A model may have any name that calls accept. Lists cover the last 30 days by
 * default.
 */
export async function readUsageFilter(
  ctx: Pick<Ctx, 'db' | 'clock'>,
  account: AccountId,
  input: z.output<typeof Filter>,
): Promise<UsageFilter> {
  const { keyId, provider, endpoint, outcome, servedBy } = input
  const model = input.model === undefined ? undefined : ((await findModelByName(ctx.db, input.model)) ?? input.model)
  const window = readWindow(input, ctx.clock.now(), USUAL_PERIOD)
  return { account, ...window, model, keyId, provider, endpoint, outcome, servedBy }
}

/** Token counts of calls. Input includes cache reads, cache writes and audio, output includes reasoning and audio. */
export const TokenViewSchema = z.object({
  inputTokens: Count,
  outputTokens: Count,
  cacheReadTokens: Count,
  cacheWriteTokens: Count,
  reasoningTokens: Count,
  audioInputTokens: Count,
  audioOutputTokens: Count,
})
export type TokenView = z.infer<typeof TokenViewSchema>

export function tokensOf(sums: TokenSums): TokenView {
  return {
    inputTokens: Number(sums.input + sums.cacheRead + sums.cacheWrite + sums.audioInput),
    outputTokens: Number(sums.output + sums.reasoning + sums.audioOutput),
    cacheReadTokens: Number(sums.cacheRead),
    cacheWriteTokens: Number(sums.cacheWrite),
    reasoningTokens: Number(sums.reasoning),
    audioInputTokens: Number(sums.audioInput),
    audioOutputTokens: Number(sums.audioOutput),
  }
}

/** A booked call. Instants are Unix milliseconds, `*Micro` whole micro-USD. */
export const UsageItemSchema = TokenViewSchema.extend({
  ...MediaUnitsSchema.shape,
  /** The request id, as the cursor of a list. */
  id: z.string(),
  requestId: z.string(),
  createdAt: UnixMs,
  model: z.string(),
  requestedModel: z.string(),
  provider: z.string().nullable(),
  servedBy: z.enum(SERVED_BY).nullable(),
  endpoint: z.string(),
  keyId: z.string().nullable(),
  outcome: UsageEventSchema.shape.outcome,
  streamed: z.boolean(),
  settlementType: z.enum(SETTLEMENT_TYPES),
  settlementStatus: z.enum(SETTLEMENT_STATUSES),
  settlementError: z.string().nullable(),
  buyerCostMicro: WholeMicro,
  listCostMicro: WholeMicro,
  ttftMs: z.number().nullable(),
  durationMs: z.number(),
  txHash: z.string().nullable(),
}).meta({ id: 'UsageItem', description: 'A call of a buyer with its tokens, its cost and its payment.' })
export type UsageItem = z.infer<typeof UsageItemSchema>

function usageItemOf(row: UsageRow, payment: PaymentFacts | undefined): UsageItem {
  const standing = payment === undefined ? standingOf(row, row.postedAt.getTime()) : standingByPayment(row, payment)
  const { rid, model, requestedModel, provider, servedBy, endpoint, keyId, outcome, ttftMs, durationMs } = row
  return {
    id: rid,
    requestId: rid,
    createdAt: row.startedAt.getTime(),
    model,
    requestedModel,
    provider,
    servedBy,
    endpoint,
    keyId,
    outcome,
    streamed: row.isStreamed,
    settlementType: settlementTypeOf(row.rail),
    settlementStatus: standing.settlement_status,
    settlementError: standing.settlement_error,
    buyerCostMicro: Number(row.charge),
    listCostMicro: Number(row.listCost),
    ...tokensOf(row),
    ...mediaUnitsOfRow(row),
    ttftMs,
    durationMs,
    txHash: standing.tx_hash,
  }
}

export const UsagePageSchema = signedPageSchema(UsageItemSchema)
export type UsagePage = z.infer<typeof UsagePageSchema>

/**
 * Lists the caller's booked calls that match the filters, newest first or in an order by value. A token for the next
 * page is valid only in its order. Throws `invalid_request` for an order by value of too many calls.
 */
export const listBuyerUsage = defineOperation({
  name: 'usage.list',
  summary: 'List calls with their cost',
  about:
    'One line a call. The query narrows the list. Sort by time, cost, tokens, duration or time to the first token (ttft): the newest or the largest come first. Any order but time needs filters that match at most 100,000 calls.',
  example: { period: '24h', sort: 'cost', maxItems: 10 },
  access: 'buyer',
  input: Filter.extend({ ...SortFields, maxItems: PageSize, nextToken: PageToken.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: UsagePageSchema,
  run: async (ctx, actor, { maxItems, nextToken, sort, isReversed, ...input }): Promise<UsagePage> => {
    const filter = await readUsageFilter(ctx, actor.account, input)
    const scope = { list: 'usage.list', tenant: actor.account, filters: [input, sort, isReversed] }
    const position = nextToken === undefined ? undefined : readCursor(ctx, scope, nextToken)
    const { rows, positionOf } = await readSorted(ctx, filter, { sort, isReversed, position, limit: maxItems + 1 })
    const carried = rows.filter(({ rail }) => isChainRail(rail)).map(({ rid }) => rid)
    const payments = await findCarriedCalls(ctx.db, carried)
    return signedPageOf(
      rows,
      maxItems,
      (row) => usageItemOf(row, payments.get(row.rid)),
      ({ id }) => signCursor(ctx, scope, positionOf(id)),
    )
  },
})

type SortedPage = UsageOrder & { readonly position: string | undefined; readonly limit: number }

/** A page of calls in an order, and the position of each in it. */
async function readSorted(
  { db }: Pick<Ctx, 'db'>,
  filter: UsageFilter,
  { sort, isReversed, position, limit }: SortedPage,
): Promise<{ readonly rows: readonly UsageRow[]; readonly positionOf: (rid: string) => string }> {
  if (sort === 'time') {
    const rows = await listUsage(db, filter, { after: position, isReversed, limit })
    return { rows, positionOf: (rid) => rid }
  }
  const places = await placeCalls(db, filter, { sort, isReversed, after: position, limit })
  const worths = new Map<string, bigint>(places.map(({ rid, worth }) => [rid, worth]))
  const rids = places.map(({ rid }) => rid)
  const rows = rids.length === 0 ? [] : await findUsage(db, filter.account, rids)
  return { rows, positionOf: (rid) => positionOfPlace({ rid, worth: worths.get(rid) ?? 0n }) }
}

/** The sums of some calls. Savings are the cost at the reference price less the cost. */
export const UsageFiguresSchema = TokenViewSchema.extend({
  ...MediaUnitsSchema.shape,
  requests: Count,
  failedRequests: Count,
  buyerCostMicro: WholeMicro,
  listCostMicro: WholeMicro,
})
export type UsageFigures = z.infer<typeof UsageFiguresSchema>

function figuresOf(sums: UsageSums): UsageFigures {
  return {
    requests: Number(sums.requests),
    failedRequests: Number(sums.failed),
    buyerCostMicro: Number(sums.charge),
    listCostMicro: Number(sums.listCost),
    ...tokensOf(sums),
    ...mediaUnitsOfRow(sums),
  }
}

/**
 * The calls of one UTC hour, day or month. `bucket` is its first millisecond, `group` the model, key, provider or
 * endpoint.
 */
export const UsageBucketSchema = UsageFiguresSchema.extend({
  bucket: UnixMs,
  group: z.string().nullable(),
  isRest: z.boolean().describe('True for the sum of all groups that are not among the top groups.'),
}).meta({ id: 'UsageBucket', description: 'The usage and the payments of one interval, for one group.' })
export const UsageBucketsSchema = z.object({
  interval: z.enum(USAGE_INTERVALS),
  buckets: z.array(UsageBucketSchema).readonly(),
})
export type UsageBuckets = z.infer<typeof UsageBucketsSchema>

/** Most buckets of one answer, and the longest window of each interval. */
const MAX_BUCKETS = 5_000
/** Most groups with buckets of their own where the others are summed. */
const MAX_TOP = 100
const MAX_WINDOW_MS: { readonly [Interval in UsageInterval]: number } = {
  hour: 31 * DAY,
  day: 400 * DAY,
  month: Number.POSITIVE_INFINITY,
}

/** Sums the caller's calls by time, oldest first. An interval without calls is left out. Throws `invalid_request`. */
export const listUsageBuckets = defineOperation({
  name: 'usage.buckets',
  summary: 'Get sums of usage over time',
  about:
    'One bucket for each interval. Group by model, key, provider or endpoint. With is_period_before, the sums are those of the period before, up to the same point in it, for a comparison. With top, the groups that cost most in the window have buckets of their own, and all others share one bucket of each interval, with is_rest.',
  example: { period: '7d', interval: 'day', groupBy: 'model' },
  access: 'buyer',
  input: Filter.extend({
    interval: z.enum(USAGE_INTERVALS).default('day'),
    groupBy: z.enum(['model', 'key', 'provider', 'endpoint']).optional(),
    top: wholeNumber(1, MAX_TOP).optional(),
    isPeriodBefore: z.boolean().default(false),
  }),
  limit: 'read',
  idempotency: 'none',
  output: UsageBucketsSchema,
  run: async (ctx, actor, { interval, groupBy, top, isPeriodBefore, ...input }): Promise<UsageBuckets> => {
    const present = await readUsageFilter(ctx, actor.account, input)
    const period = input.from === undefined && input.to === undefined ? (input.period ?? USUAL_PERIOD) : undefined
    const filter = isPeriodBefore ? { ...present, ...windowBefore(present, period) } : present
    if (filter.to - filter.from > MAX_WINDOW_MS[interval]) {
      const days = MAX_WINDOW_MS[interval] / DAY
      throw new AppError('invalid_request', { message: `By ${interval}, a window must be at most ${days} days.` })
    }
    if (top !== undefined && groupBy === undefined) {
      throw new AppError('invalid_request', { message: 'top needs group_by.', param: 'top' })
    }
    // Both periods have the top groups of the present one, so that each group has its own figure of before.
    const own =
      groupBy === undefined || top === undefined
        ? undefined
        : await rankUsageGroups(ctx.db, present, { group: groupBy, limit: top })
    const rows = await sumUsageByTime(ctx.db, filter, { interval, group: groupBy, own, limit: MAX_BUCKETS + 1 })
    if (rows.length > MAX_BUCKETS) {
      throw new AppError('invalid_request', {
        message: `An answer has at most ${MAX_BUCKETS} buckets. Choose a shorter window, a longer interval or top.`,
      })
    }
    return {
      interval,
      buckets: rows.map((row) => ({
        bucket: row.at.getTime(),
        group: row.group,
        isRest: row.isRest,
        ...figuresOf(row),
      })),
    }
  },
})
