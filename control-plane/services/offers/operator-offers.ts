import { z } from 'zod'
import { areFiguresSummed } from '#control-plane/db/market-figures.ts'
import type { OperatorOffer } from '#control-plane/db/operator-offers.ts'
import { listMarketOffers } from '#control-plane/db/operator-offers.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { findNamedModel } from '#control-plane/services/catalog/named-model.ts'
import { ModelName, PageSize, Wallet } from '#control-plane/services/input-fields.ts'
import { dayBefore } from '#control-plane/services/market/market-rows.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { oneLine } from '#shared/texts.ts'
import { moveAsOperator } from './operator-move.ts'
import type { OfferView } from './view.ts'
import { OfferViewSchema } from './view.ts'

const KEPT_BPS_PER_PERCENT = 100

/** An offer in the operators' list. `discountPct` is percent off the reference price. Times are Unix milliseconds. */
export const MarketOfferViewSchema = z.object({
  id: z.string(),
  sellerAccount: z.string(),
  /** The seller's wallet in lower case, `0x…`. An organisation's offers have a workspace instead. */
  wallet: z.string().nullable(),
  workspace: z.string().nullable(),
  model: z.string(),
  provider: z.string(),
  isTrusted: z.boolean(),
  baseUrl: z.string(),
  status: z.enum(['active', 'paused', 'inactive']),
  delistedReason: z.string().nullable(),
  discountPct: z.number(),
  capDailyMicro: MicroDigits.nullable(),
  createdAt: UnixMs,
  calls: Count.nullable().describe(
    'Calls of the last 24 hours that were paid, or served at a price of zero. Null while they are not summed yet.',
  ),
  failures: Count.nullable().describe(
    'Attempts of the last 24 hours that the provider failed. Null while they are not summed yet.',
  ),
})
export type MarketOfferView = z.infer<typeof MarketOfferViewSchema>

function viewOf({ keptBps, capDailyMicro, createdAt, ...offer }: OperatorOffer, isSummed: boolean): MarketOfferView {
  return {
    ...offer,
    ...(isSummed ? {} : { calls: null, failures: null }),
    discountPct: 100 - keptBps / KEPT_BPS_PER_PERCENT,
    capDailyMicro: capDailyMicro?.toString() ?? null,
    createdAt: createdAt.getTime(),
  }
}

/** Searches the offers of all sellers, by id, with the traffic of their last 24 hours. */
export const searchOffers = defineOperation({
  name: 'offer.search',
  summary: 'Search the offers of all sellers',
  about: 'Each offer has its calls and failures of the last 24 hours, by whole hours.',
  access: 'operator',
  input: z.strictObject({
    model: ModelName.optional(),
    provider: oneLine(64).optional(),
    status: z.enum(['active', 'paused', 'inactive']).optional(),
    isDelisted: z.boolean().optional(),
    wallet: Wallet.optional(),
    limit: PageSize,
    /** The `nextToken` of the preceding page. */
    nextToken: PageToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: signedPageSchema(MarketOfferViewSchema),
  run: async (ctx, _actor, { model: name, limit, nextToken, provider, status, isDelisted, wallet }) => {
    const model = await findNamedModel(ctx, name)
    const filters = [model, provider, status, isDelisted, wallet]
    const pages = pagesById(ctx, { list: 'offer.search', tenant: 'operator', filters })
    const now = ctx.clock.now()
    const trafficFrom = dayBefore(now)
    const search = { model, provider, status, isDelisted, wallet, after: pages.idIn(nextToken), limit: limit + 1 }
    const [rows, isSummed] = await Promise.all([
      listMarketOffers(ctx.db, { ...search, trafficFrom }),
      areFiguresSummed(ctx.db, 'hour', { from: trafficFrom, to: now }),
    ])
    return pages.pageOf(rows, limit, (row) => viewOf(row, isSummed))
  },
})

const Move = z.strictObject({ id: oneLine(100), reason: oneLine(500).trim().min(1) })

/** Takes an offer of any seller off the market. Its seller sees the reason. */
export const delistOffer = defineOperation({
  name: 'offer.delist',
  summary: 'Delist an offer of any seller',
  about: 'The seller sees the reason.',
  access: 'operator',
  input: Move,
  limit: 'none',
  idempotency: 'none',
  output: OfferViewSchema,
  run: async (ctx, _actor, { id, reason }): Promise<OfferView> => moveAsOperator(ctx, { id, event: 'delist', reason }),
})

/** Lets the seller of a delisted offer activate it again. The offer comes back paused. The reason goes to the audit. */
export const restoreOffer = defineOperation({
  name: 'offer.restore',
  summary: 'Restore a delisted offer',
  about: 'The offer comes back paused, and its seller decides when to activate it.',
  access: 'operator',
  input: Move,
  limit: 'none',
  idempotency: 'none',
  output: OfferViewSchema,
  run: async (ctx, _actor, { id, reason }): Promise<OfferView> => {
    return moveAsOperator(ctx, { id, event: 'restore', reason })
  },
})
