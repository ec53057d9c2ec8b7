import { z } from 'zod'
import type { TokenSums, UsageFilter, UsageInterval, UsageRow, UsageSums } from '#control-plane/db/buyer-usage.ts'
import { listUsage, sumUsageByTime, USAGE_INTERVALS } from '#control-plane/db/buyer-usage.ts'
import { findModelByName } from '#control-plane/db/catalog.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { ModelName, PageSize, UlidToken } from '#control-plane/services/fields.ts'
import type { Page } from '#control-plane/services/page.ts'
import { pageOf } from '#control-plane/services/page.ts'
import { readWindow, WindowFields } from '#control-plane/services/usage-window.ts'
import { DAY } from '#shared/clock.ts'
import type { SettlementStatus } from '#shared/contract/lookup.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import { SERVED_BY } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { standingOf } from '#shared/lookup-record.ts'

const Name = z.string().min(1).max(200)

/** Filters of a buyer's own calls, the same for the list, the buckets and the export. */
export const UsageFilterFields = {
  ...WindowFields,
  model: ModelName.optional(),
  keyId: z.string().max(100).optional(),
  provider: Name.optional(),
  endpoint: Name.optional(),
  outcome: z.enum(['succeeded', 'failed', 'cut', 'cancelled']).optional(),
  servedBy: z.enum(SERVED_BY).optional(),
}
const Filter = z.strictObject(UsageFilterFields)

/** The filter that an input means; a model may be named as a call may name it. Lists go over the last 30 days unless told. */
export async function readUsageFilter(
  ctx: Pick<Ctx, 'db' | 'clock'>,
  account: AccountId,
  input: z.output<typeof Filter>,
): Promise<UsageFilter> {
  const { keyId, provider, endpoint, outcome, servedBy } = input
  const model = input.model === undefined ? undefined : ((await findModelByName(ctx.db, input.model)) ?? input.model)
  const window = readWindow(input, ctx.clock.now(), '30d')
  return { account, ...window, model, keyId, provider, endpoint, outcome, servedBy }
}

/** Tokens of calls: input counts what was read from or written to a cache and audio, output counts reasoning and audio. */
export type TokenView = {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly reasoningTokens: number
  readonly audioInputTokens: number
  readonly audioOutputTokens: number
}

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

/** One booked call. Instants are Unix milliseconds, `*Micro` whole micro-USD. `txHash` is null before the chain rails. */
export type UsageItem = TokenView & {
  /** The request id, as the cursor of a list. */
  readonly id: string
  readonly requestId: string
  readonly createdAt: number
  readonly model: string
  readonly requestedModel: string
  readonly provider: string | null
  readonly servedBy: UsageEvent['servedBy']
  readonly endpoint: string
  readonly keyId: string | null
  readonly outcome: UsageEvent['outcome']
  readonly streamed: boolean
  readonly settlementStatus: SettlementStatus
  readonly settlementError: string | null
  readonly buyerCostMicro: number
  readonly listCostMicro: number
  readonly ttftMs: number | null
  readonly durationMs: number
  readonly txHash: string | null
}

function usageItemOf(row: UsageRow): UsageItem {
  const standing = standingOf(row, row.postedAt.getTime())
  const { rid, model, requestedModel, provider, servedBy, endpoint, keyId, outcome, ttftMs, durationMs } = row
  return {
    id: rid,
    requestId: rid,
    createdAt: row.startedAt.getTime(),
    ...{ model, requestedModel, provider, servedBy, endpoint, keyId, outcome },
    streamed: row.isStreamed,
    settlementStatus: standing.settlement_status,
    settlementError: standing.settlement_error,
    buyerCostMicro: Number(row.charge),
    listCostMicro: Number(row.listCost),
    ...tokensOf(row),
    ...{ ttftMs, durationMs, txHash: null },
  }
}

export type UsagePage = Page<UsageItem>

/** The caller's booked calls, newest first, filtered. */
export const listBuyerUsage = defineOperation({
  name: 'usage.list',
  access: 'buyer',
  input: Filter.extend({ maxItems: PageSize, nextToken: UlidToken.optional() }),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx, actor, { maxItems, nextToken, ...input }): Promise<UsagePage> => {
    const filter = await readUsageFilter(ctx, actor.account, input)
    const found = await listUsage(ctx.db, filter, { before: nextToken, limit: maxItems + 1 })
    return pageOf(found, maxItems, usageItemOf)
  },
})

/** What calls came to. Savings are what the same calls would have cost at the reference price, less what they cost. */
export type UsageFigures = TokenView & {
  readonly requests: number
  readonly failedRequests: number
  readonly buyerCostMicro: number
  readonly listCostMicro: number
}

function figuresOf(sums: UsageSums): UsageFigures {
  return {
    requests: Number(sums.requests),
    failedRequests: Number(sums.failed),
    buyerCostMicro: Number(sums.charge),
    listCostMicro: Number(sums.listCost),
    ...tokensOf(sums),
  }
}

/** Calls of one UTC hour, day or month; `bucket` is its first millisecond, `group` the model, key, provider or endpoint. */
export type UsageBucket = UsageFigures & { readonly bucket: number; readonly group: string | null }
export type UsageBuckets = { readonly interval: UsageInterval; readonly buckets: readonly UsageBucket[] }

/** Buckets of one answer, and the longest window that an interval is answered for. */
const MAX_BUCKETS = 5_000
const MAX_WINDOW_MS: { readonly [Interval in UsageInterval]: number } = {
  hour: 31 * DAY,
  day: 400 * DAY,
  month: Number.POSITIVE_INFINITY,
}

/** The caller's calls by time, oldest first; hours and days without any are left out. Throws `invalid_request`. */
export const listUsageBuckets = defineOperation({
  name: 'usage.buckets',
  access: 'buyer',
  input: Filter.extend({
    interval: z.enum(USAGE_INTERVALS).default('day'),
    groupBy: z.enum(['model', 'key', 'provider', 'endpoint']).optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx, actor, { interval, groupBy, ...input }): Promise<UsageBuckets> => {
    const filter = await readUsageFilter(ctx, actor.account, input)
    if (filter.to - filter.from > MAX_WINDOW_MS[interval]) {
      const days = MAX_WINDOW_MS[interval] / DAY
      throw new AppError('invalid_request', { message: `By ${interval}, a window is at most ${days} days.` })
    }
    const rows = await sumUsageByTime(ctx.db, filter, { interval, group: groupBy, limit: MAX_BUCKETS + 1 })
    if (rows.length > MAX_BUCKETS) {
      throw new AppError('invalid_request', { message: `An answer has at most ${MAX_BUCKETS} buckets: ask for less.` })
    }
    return {
      interval,
      buckets: rows.map((row) => ({ bucket: row.at.getTime(), group: row.group, ...figuresOf(row) })),
    }
  },
})
