import { z } from 'zod'
import type { UsageFilter } from '#control-plane/db/buyer-usage.ts'
import { listUsageAfter } from '#control-plane/db/buyer-usage.ts'
import type { Ctx } from '#control-plane/operation.ts'
import { defineOperation } from '#control-plane/operation.ts'
import { csvLine } from '#control-plane/services/exports/csv.ts'
import type { ExportLink } from '#control-plane/services/exports/export-link.ts'
import { makeExportLink } from '#control-plane/services/exports/export-link.ts'
import type { ExportFile } from '#control-plane/services/exports/exports.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { readUsageFilter, UsageFilterFields, usageItemOf } from './buyer-usage.ts'

/** The kind of export that a link of this file opens. */
export const BUYER_USAGE_EXPORT = 'buyer-usage'

/** Rows read at once: their text is what a download holds in memory. */
const BATCH = 2_000
/** Two thousand million rows: a download that has not ended by then is none. */
const MAX_BATCHES = 1_000_000

const COLUMNS = [
  'request_id',
  'created_at',
  'model',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'reasoning_tokens',
  'buyer_cost_micro',
  'list_cost_micro',
  'settlement_status',
  'tx_hash',
] as const

/** Makes a link to a CSV file of the caller's calls, oldest first, filtered like the list. */
export const exportBuyerUsage = defineOperation({
  name: 'usage.export',
  access: 'buyer',
  input: z.strictObject({ ...UsageFilterFields, format: z.literal('csv').default('csv') }),
  limit: 'read',
  idempotency: 'none',
  run: async (ctx, actor, { format: _format, ...input }): Promise<ExportLink> => {
    const query = await readUsageFilter(ctx, actor.account, input)
    return makeExportLink(ctx, { kind: BUYER_USAGE_EXPORT, query })
  },
})

const Query = z.object({
  account: z.string().refine((text): text is AccountId => isId('acc', text)),
  from: z.number(),
  to: z.number(),
  model: z.string().optional(),
  keyId: z.string().optional(),
  provider: z.string().optional(),
  endpoint: z.string().optional(),
  outcome: z.enum(['succeeded', 'failed', 'cut', 'cancelled']).optional(),
  servedBy: UsageFilterFields.servedBy,
})

/** The file behind such a link. */
export function writeBuyerUsage(ctx: Ctx, query: unknown): ExportFile {
  const filter = Query.safeParse(query).data
  if (filter === undefined) throw new AppError('not_found')
  return { fileName: 'usage.csv', contentType: 'text/csv; charset=utf-8', chunks: chunksOf(ctx, filter) }
}

async function* chunksOf(ctx: Ctx, filter: UsageFilter): AsyncGenerator<string> {
  yield csvLine(COLUMNS)
  let after = ''
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const rows = await listUsageAfter(ctx.db, filter, { after, limit: BATCH })
    let text = ''
    for (const row of rows) {
      const item = usageItemOf(row)
      text += csvLine([
        item.requestId,
        new Date(item.createdAt).toISOString(),
        item.model,
        item.inputTokens,
        item.outputTokens,
        item.cacheReadTokens,
        item.reasoningTokens,
        item.buyerCostMicro,
        item.listCostMicro,
        item.settlementStatus,
        item.txHash,
      ])
      after = row.rid
    }
    if (text !== '') yield text
    if (rows.length < BATCH) return
  }
}
