import { z } from 'zod'
import type { Sale } from '#control-plane/db/earnings.ts'
import { listSales } from '#control-plane/db/earnings.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { PageSize } from '#control-plane/services/fields.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import { cursorOf, NextToken, signedPageOf } from '#control-plane/services/page.ts'
import { Count, MicroDigits, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { standingOf } from '#shared/lookup-record.ts'
import { tokenPrices } from '#shared/market-view.ts'
import { keptBps } from '#shared/money.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { oneLine } from '#shared/texts.ts'

/** One sale: the call's id, the seller's earnings, and the price. */
export const SaleViewSchema = z
  .object({
    id: z.string(),
    model: z.string(),
    offerId: z.string().nullable(),
    settlementStatus: z.string(),
    /** Unix milliseconds. */
    createdAt: UnixMs,
    sellerCostUsdc: MicroDigits.describe('What the seller earned, in micro-USD as decimal digits.'),
    inputTokens: Count,
    outputTokens: Count,
    cacheReadTokens: Count,
    /** Whole micro-USD per million tokens as sold; null for a model that is not sold by tokens. */
    effectiveInputPer1m: WholeMicro.nullable(),
    effectiveOutputPer1m: WholeMicro.nullable(),
    txHash: z.string().nullable(),
  })
  .meta({ id: 'Sale' })
export type SaleView = z.infer<typeof SaleViewSchema>

export function viewSale(sale: Sale): SaleView {
  const prices = UnitPricesSchema.safeParse(sale.unitPrices).data ?? {}
  const { input, output } = tokenPrices(prices, keptBps(sale.keptBps))
  const { charge, outcome, rail } = sale
  return {
    id: sale.rid,
    model: sale.model,
    offerId: sale.offer,
    settlementStatus: standingOf({ charge, outcome, errorCode: null, rail }, sale.postedAt.getTime()).settlement_status,
    createdAt: sale.startedAt.getTime(),
    sellerCostUsdc: sale.sellerNet.toString(),
    inputTokens: Number(sale.inputTokens),
    outputTokens: Number(sale.outputTokens),
    cacheReadTokens: Number(sale.cacheReadTokens),
    effectiveInputPer1m: input === null ? null : Number(input),
    effectiveOutputPer1m: output === null ? null : Number(output),
    txHash: null,
  }
}

export const SalesPageSchema = z
  .object({
    recentSales: z.array(SaleViewSchema).readonly(),
    nextToken: NextToken,
    cursorOf: cursorOf<SaleView>(),
  })
  .meta({ id: 'SalesPage' })
export type SalesPage = z.infer<typeof SalesPageSchema>

/** Lists the caller's sales, newest first. The cursor is signed, so an edited one or another seller's is refused. */
export const listSalesHistory = defineOperation({
  name: 'earnings.history',
  access: 'seller',
  input: z.strictObject({ limit: PageSize, cursor: oneLine(200).optional(), workspaceId: WorkspaceField }),
  limit: 'read',
  idempotency: 'none',
  output: SalesPageSchema,
  run: async (ctx, actor, { limit, cursor, workspaceId }): Promise<SalesPage> => {
    const seller = await accountOf(ctx, actor, workspaceId)
    const scope = { list: 'sales', tenant: seller }
    const before = cursor === undefined ? undefined : readCursor(ctx, scope, cursor)
    const sales = await listSales(ctx.db, seller, { before, limit: limit + 1 })
    const page = signedPageOf(sales, limit, viewSale, ({ id }) => signCursor(ctx, scope, id))
    return { recentSales: page.items, nextToken: page.nextToken, cursorOf: page.cursorOf }
  },
})
