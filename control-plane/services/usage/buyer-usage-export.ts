import { z } from 'zod'
import type { UsageLine } from '#control-plane/db/buyer-usage.ts'
import { findUsageLines, listUsageLines, USAGE_SORTS } from '#control-plane/db/buyer-usage.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { ExportFile } from '#control-plane/ports/exports/exporter.ts'
import { csvCell, csvLine, LINE_END } from '#control-plane/services/exports/csv.ts'
import type { ExportLink } from '#control-plane/services/exports/export-link.ts'
import { ExportLinkSchema, makeExportLink } from '#control-plane/services/exports/export-link.ts'
import { readAhead } from '#control-plane/services/exports/read-ahead.ts'
import { BILLED_FILE_COLUMNS, MEDIA_FILE_COLUMNS } from '#control-plane/services/media-units.ts'
import { standingByPayment } from '#control-plane/services/payments/payment-standing.ts'
import type { SettlementStatus } from '#shared/contract/lookup.ts'
import { settlementTypeOf } from '#shared/contract/rails.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { standingOf } from '#shared/lookup-record.ts'
import { readUsageFilter, UsageFilterFields } from './buyer-usage.ts'
import { MAX_SORTED, placeCalls, SortFields } from './usage-order.ts'

/** The kind of export in the link to a file of calls. */
export const BUYER_USAGE_EXPORT = 'buyer-usage'

/** Most rows of a file, and rows in one read. A download holds the text of one read in memory. */
const MAX_ROWS = 2_000_000_000
const BATCH = 5_000

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
  'buyer_cost_usd',
  'direct_cost_usd',
  'settlement_type',
  ...MEDIA_FILE_COLUMNS,
  ...BILLED_FILE_COLUMNS,
]

/** Makes a link to a CSV file of the caller's calls: oldest first, or in an order of the list, with its filters. */
export const exportBuyerUsage = defineOperation({
  name: 'usage.export',
  summary: 'Download a file of calls',
  about:
    'A signed link to the file. The link works without a key for five minutes. Oldest first, or in the order that sort names, as in the list of calls.',
  example: { period: '7d' },
  access: 'buyer',
  input: z.strictObject({
    ...UsageFilterFields,
    sort: z.enum(USAGE_SORTS).optional(),
    isReversed: SortFields.isReversed,
    format: z.literal('csv').default('csv'),
  }),
  limit: 'read',
  idempotency: 'none',
  output: ExportLinkSchema,
  run: async (ctx, actor, { format: _format, sort, isReversed, ...input }): Promise<ExportLink> => {
    const filter = await readUsageFilter(ctx, actor.account, input)
    // Too many calls to sort are refused here, because the caller can still get an error.
    if (sort !== undefined && sort !== 'time') {
      await placeCalls(ctx.db, filter, { sort, isReversed, after: undefined, limit: 1 })
    }
    return makeExportLink(ctx, { kind: BUYER_USAGE_EXPORT, query: { ...filter, sort, isReversed } })
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
  sort: z.enum(USAGE_SORTS).optional(),
  isReversed: z.boolean().default(false),
})

/** The file holds booked calls only, without the time of booking, so any time serves here. */
const BOOKED = 0

/** Writes the file of a usage export link. */
export function writeBuyerUsage(ctx: Pick<Ctx, 'db'>, query: unknown): ExportFile {
  const filter = Query.safeParse(query).data
  if (filter === undefined) throw new AppError('not_found')
  return { fileName: 'usage.csv', contentType: 'text/csv; charset=utf-8', chunks: chunksOf(ctx, filter) }
}

function statusOf({ charge, outcome, rail, paymentState: state, transaction }: UsageLine): SettlementStatus {
  const call = { charge, outcome, errorCode: null, rail }
  if (state === null) return standingOf(call, BOOKED).settlement_status
  return standingByPayment(call, { state, transaction, reason: null, changedAt: new Date(BOOKED) }).settlement_status
}

async function* chunksOf(ctx: Pick<Ctx, 'db'>, query: z.output<typeof Query>): AsyncGenerator<string> {
  yield csvLine(COLUMNS)
  for await (const rows of batchesOf(ctx, query)) {
    let text = ''
    for (const line of rows) {
      const { rid, createdAt, model, figures, usd, rail, transaction, media, billed } = line
      // Every field but the model consists of letters and digits from the database.
      const money = `${statusOf(line)},${transaction ?? ''},${usd},${settlementTypeOf(rail)},${media},${billed}`
      text += `${rid},${createdAt},${csvCell(model)},${figures},${money}${LINE_END}`
    }
    yield text
  }
}

/**
 * The calls of a file in its order. An order by value is made once as a list of request ids. The calls are read in that
 * order.
 */
async function* batchesOf(
  { db }: Pick<Ctx, 'db'>,
  { sort, isReversed, ...filter }: z.output<typeof Query>,
): AsyncGenerator<readonly UsageLine[]> {
  if (sort === undefined || sort === 'time') {
    const isNewestFirst = sort !== undefined && !isReversed
    const size = { batch: BATCH, limit: MAX_ROWS }
    yield* readAhead((page) => listUsageLines(db, filter, { ...page, isNewestFirst }), size)
    return
  }
  const places = await placeCalls(db, filter, { sort, isReversed, after: undefined, limit: MAX_SORTED })
  for (let at = 0; at < places.length; at += BATCH) {
    const rids = places.slice(at, at + BATCH).map(({ rid }) => rid)
    yield await findUsageLines(db, filter.account, rids)
  }
}
