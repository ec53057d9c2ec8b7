import { z } from 'zod'
import type { SoldFilter } from '#control-plane/db/earnings.ts'
import { listSoldAfter } from '#control-plane/db/earnings.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { ExportFile } from '#control-plane/ports/exports/exporter.ts'
import { csvCell, csvLine, LINE_END } from '#control-plane/services/exports/csv.ts'
import type { ExportLink } from '#control-plane/services/exports/export-link.ts'
import { ExportLinkSchema, makeExportLink } from '#control-plane/services/exports/export-link.ts'
import { readAhead } from '#control-plane/services/exports/read-ahead.ts'
import { BILLED_FILE_COLUMNS, MEDIA_FILE_COLUMNS } from '#control-plane/services/media-units.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import { readWindow, WindowFields } from '#control-plane/services/usage/usage-window.ts'
import { providerCostOf } from '#control-plane/services/view-fields.ts'
import { settlementTypeOf } from '#shared/contract/rails.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { standingOf } from '#shared/lookup-record.ts'
import { wholeNumber } from '#shared/texts.ts'

/** The kind of export in the link to a file of sales. */
export const SELLER_USAGE_EXPORT = 'seller-usage'

/** Most rows of a file, and rows in one read. A download holds the text of one read in memory. */
const MAX_ROWS = 5_000_000
const BATCH = 5_000

const COLUMNS = [
  'request_id',
  'created_at',
  'model',
  'offer_id',
  'provider',
  'input_tokens',
  'output_tokens',
  'cache_read_tokens',
  'reasoning_tokens',
  'seller_earned_micro',
  'buyer_cost_micro',
  'settlement_status',
  'tx_hash',
  'settlement_type',
  ...MEDIA_FILE_COLUMNS,
  ...BILLED_FILE_COLUMNS,
  'list_cost_micro',
  'provider_cost_usd',
  'fee_micro',
]

/** Makes a link to a CSV file of the caller's sales, oldest first, by default of the last 30 days. */
export const exportSellerUsage = defineOperation({
  name: 'earnings.export',
  summary: 'Download a file of sales',
  about: 'A signed link to the file. The link works without a key for five minutes.',
  access: 'seller',
  input: z.strictObject({
    from: WindowFields.from,
    to: WindowFields.to,
    limit: wholeNumber(1, MAX_ROWS).prefault(MAX_ROWS),
    format: z.literal('csv').default('csv'),
    workspaceId: WorkspaceField,
  }),
  limit: 'read',
  idempotency: 'none',
  output: ExportLinkSchema,
  run: async (ctx, actor, { from, to, limit, workspaceId }): Promise<ExportLink> => {
    const window = readWindow({ from, to }, ctx.clock.now(), '30d')
    const query = { seller: await accountOf(ctx, actor, workspaceId), ...window, limit }
    return makeExportLink(ctx, { kind: SELLER_USAGE_EXPORT, query })
  },
})

const Query = z.object({
  seller: z.string().refine((text): text is AccountId => isId('acc', text)),
  from: z.number(),
  to: z.number(),
  limit: z.number().int(),
})

/** The file holds booked calls only, without the time of booking, so any time serves here. */
const BOOKED = 0

/** Writes the file of a sales export link. */
export function writeSellerUsage(ctx: Pick<Ctx, 'db'>, query: unknown): ExportFile {
  const filter = Query.safeParse(query).data
  if (filter === undefined) throw new AppError('not_found')
  return { fileName: 'sales.csv', contentType: 'text/csv; charset=utf-8', chunks: chunksOf(ctx, filter, filter.limit) }
}

async function* chunksOf(ctx: Pick<Ctx, 'db'>, filter: SoldFilter, limit: number): AsyncGenerator<string> {
  yield csvLine(COLUMNS)
  for await (const rows of readAhead((page) => listSoldAfter(ctx.db, filter, page), { batch: BATCH, limit })) {
    let text = ''
    for (const {
      rid,
      createdAt,
      model,
      offer,
      provider,
      figures,
      charge,
      fee,
      outcome,
      rail,
      transaction,
      media,
      billed,
      listCost,
      ownCost,
    } of rows) {
      // Every field but the names consists of letters and digits from the database.
      const names = `${csvCell(model)},${csvCell(offer)},${csvCell(provider)}`
      const { settlement_status } = standingOf({ charge, outcome, errorCode: null, rail }, BOOKED)
      text += `${rid},${createdAt},${names},${figures},${settlement_status},${transaction ?? ''},${settlementTypeOf(rail)},${media},${billed},${listCost},${providerCostOf(ownCost) ?? ''},${fee}${LINE_END}`
    }
    yield text
  }
}
