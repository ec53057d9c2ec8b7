import { z } from 'zod'
import type { Database } from '#control-plane/db/database.ts'
import type { Sale } from '#control-plane/db/earnings.ts'
import { listSales } from '#control-plane/db/earnings.ts'
import type { MEDIA_ROW } from '#control-plane/db/media-units.ts'
import type { PendingSale } from '#control-plane/db/payment-views.ts'
import { listPendingSales } from '#control-plane/db/payment-views.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { PageSize } from '#control-plane/services/input-fields.ts'
import { MediaUnitsSchema, mediaUnitsOfRow } from '#control-plane/services/media-units.ts'
import { accountOf, WorkspaceField } from '#control-plane/services/organizations/workspaces.ts'
import { cursorOf, NextToken, signedPageOf } from '#control-plane/services/page.ts'
import {
  Count,
  MicroDigits,
  ProviderCost,
  providerCostOf,
  UnitPriceList,
  UnixMs,
  WholeMicro,
} from '#control-plane/services/view-fields.ts'
import { isSoldName, readUsageEvent } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import { standingOf } from '#shared/lookup-record.ts'
import type { ModelPrices } from '#shared/market-view.ts'
import { modelPrices } from '#shared/market-view.ts'
import type { MediaUnits } from '#shared/media-units.ts'
import { mediaUnitsOf } from '#shared/media-units.ts'
import { keptBps, microUsd, microUsdToDollars } from '#shared/money.ts'
import { PriceOverridesSchema, unitPricesUnder } from '#shared/price-list.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { oneLine } from '#shared/texts.ts'
import { cacheReadTokens, inputTokens, outputTokens } from '#shared/usage.ts'

const TokenPrice = z
  .number()
  .nullable()
  .describe('US dollars per million tokens as sold; null for a model that is not sold by tokens.')

/** A sale: the call's id, the seller's earnings, and the price. */
export const SaleViewSchema = z
  .object({
    id: z.string(),
    model: z.string(),
    offerId: z.string().nullable(),
    settlementStatus: z.string(),
    /** Unix milliseconds. */
    createdAt: UnixMs,
    sellerCostUsdc: MicroDigits.describe('What the seller earned, in micro-USD as decimal digits.'),
    grossMicro: WholeMicro.describe('The payment of the buyer, in micro-USD: the earnings of the seller and the fee.'),
    feeMicro: WholeMicro.describe('The fee of the market, in micro-USD.'),
    listCostMicro: WholeMicro.describe('The call at the full list price, in micro-USD.'),
    providerCostUsd: ProviderCost,
    inputTokens: Count,
    outputTokens: Count,
    cacheReadTokens: Count,
    ...MediaUnitsSchema.shape,
    effectiveInputPer1m: TokenPrice,
    effectiveOutputPer1m: TokenPrice,
    mediaUnit: z.string().nullable().describe('The unit of media in words. A call on a lent key is sold per request.'),
    effectiveMediaUnitPrice: WholeMicro.nullable().describe(
      'Whole micro-USD of one media unit as sold; null for a model that is sold by tokens alone.',
    ),
    effectiveUnitPrices: UnitPriceList,
    txHash: z.string().nullable(),
  })
  .meta({ id: 'Sale', description: 'A call that a seller served, with its earnings.' })
export type SaleView = z.infer<typeof SaleViewSchema>

/** A sale, whether it is booked or waits for the chain. */
type AnySale = Omit<Sale, 'postedAt' | 'paymentState' | keyof typeof MEDIA_ROW> & {
  readonly postedAt: Date | null
  readonly media: MediaUnits
}

/**
 * A seller's newest sales. A sale to a wallet is pending until its payment is booked. The seller is then paid even when
 * the wallet's transfer failed.
 */
export async function newestSales(
  db: Database,
  seller: AccountId,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<AnySale[]> {
  // Pending sales are read first, so a sale that is booked between the two reads is in both.
  const pending = await listPendingSales(db, seller, page)
  const anySales = (await listSales(db, seller, page)).map(
    (sale): AnySale => ({ ...sale, media: mediaUnitsOfRow(sale) }),
  )
  if (pending.length === 0) return anySales
  const bookedIds = new Set<string>(anySales.map(({ rid }) => rid))
  const all = [...anySales, ...pending.filter(({ rid }) => !bookedIds.has(rid)).flatMap(pendingSaleOf)]
  all.sort((left, right) => (left.rid < right.rid ? 1 : -1))
  return all.slice(0, page.limit)
}

function pendingSaleOf({ rid, event: text, transaction, unitPrices, overrides, mediaUnit }: PendingSale): AnySale[] {
  const event = readUsageEvent(text)
  if (event === undefined) return []
  const { model, offer, outcome, rail, chargeMicro, sellerNetMicro, usage, startedAt } = event
  return [
    {
      rid,
      model,
      offer,
      outcome,
      rail,
      transaction,
      unitPrices,
      overrides,
      priceConditions: event.priceConditions ?? [],
      mediaUnit,
      postedAt: null,
      charge: chargeMicro,
      listCost: event.listMicro,
      ownCost: event.ownCostPico ?? null,
      sellerNet: sellerNetMicro,
      keptBps: Number(event.keptBps),
      inputTokens: BigInt(inputTokens(usage)),
      outputTokens: BigInt(outputTokens(usage)),
      cacheReadTokens: BigInt(cacheReadTokens(usage)),
      startedAt: new Date(startedAt),
      media: mediaUnitsOf(usage),
    },
  ]
}

export function viewSale(sale: AnySale): SaleView {
  const effective = pricesOf(sale)
  const dollars = (price: bigint | null) => (price === null ? null : microUsdToDollars(microUsd(price)))
  const { charge, outcome, rail, postedAt } = sale
  const standing = standingOf({ charge, outcome, errorCode: null, rail }, postedAt?.getTime() ?? null)
  return {
    id: sale.rid,
    model: sale.model,
    offerId: sale.offer,
    settlementStatus: postedAt === null ? 'pending' : standing.settlement_status,
    createdAt: sale.startedAt.getTime(),
    sellerCostUsdc: sale.sellerNet.toString(),
    grossMicro: Number(charge),
    feeMicro: Number(charge - sale.sellerNet),
    listCostMicro: Number(sale.listCost),
    providerCostUsd: providerCostOf(sale.ownCost),
    inputTokens: Number(sale.inputTokens),
    outputTokens: Number(sale.outputTokens),
    cacheReadTokens: Number(sale.cacheReadTokens),
    ...sale.media,
    effectiveInputPer1m: dollars(effective.input),
    effectiveOutputPer1m: dollars(effective.output),
    mediaUnit: effective.mediaUnit,
    effectiveMediaUnitPrice: effective.mediaUnitPrice === null ? null : Number(effective.mediaUnitPrice),
    effectiveUnitPrices: effective.unitPrices,
    txHash: sale.transaction,
  }
}

/** A call on a lent key has a quote of its own, so its unit is the request and its price the charge. */
function pricesOf(
  sale: AnySale,
): Pick<ModelPrices, 'input' | 'output' | 'mediaUnit' | 'mediaUnitPrice' | 'unitPrices'> {
  if (isSoldName(sale.model)) {
    const unitPrices = [{ unit: 'request', usd: microUsdToDollars(microUsd(sale.charge)) }]
    return { input: null, output: null, mediaUnit: 'per request', mediaUnitPrice: sale.charge, unitPrices }
  }
  const unitPrices = UnitPricesSchema.safeParse(sale.unitPrices).data ?? {}
  const overrides = PriceOverridesSchema.safeParse(sale.overrides).data
  return modelPrices(sale, unitPricesUnder({ unitPrices, overrides }, sale.priceConditions), keptBps(sale.keptBps))
}

export const SalesPageSchema = z
  .object({
    recentSales: z.array(SaleViewSchema).readonly(),
    nextToken: NextToken,
    cursorOf: cursorOf<SaleView>(),
  })
  .meta({ id: 'SalesPage', description: 'A page of a seller’s sales, newest first.' })
export type SalesPage = z.infer<typeof SalesPageSchema>

/** Lists the caller's sales, newest first. The cursor is signed: an edited cursor or another seller's is refused. */
export const listSalesHistory = defineOperation({
  name: 'earnings.history',
  summary: 'List sales, newest first',
  about: 'One line for each sold call, with its earnings.',
  example: { limit: 10 },
  access: 'seller',
  input: z.strictObject({ limit: PageSize, cursor: oneLine(200).optional(), workspaceId: WorkspaceField }),
  limit: 'read',
  idempotency: 'none',
  output: SalesPageSchema,
  run: async (ctx, actor, { limit, cursor, workspaceId }): Promise<SalesPage> => {
    const seller = await accountOf(ctx, actor, workspaceId)
    const scope = { list: 'sales', tenant: seller }
    const before = cursor === undefined ? undefined : readCursor(ctx, scope, cursor)
    const sales = await newestSales(ctx.db, seller, { before, limit: limit + 1 })
    const page = signedPageOf(sales, limit, viewSale, ({ id }) => signCursor(ctx, scope, id))
    return { recentSales: page.items, nextToken: page.nextToken, cursorOf: page.cursorOf }
  },
})
