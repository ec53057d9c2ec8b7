import { collectLines } from '#control-plane/api/collect-lines.ts'
import { invoke } from '#control-plane/operation.ts'
import { bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { deleteOffer, updateOffer } from '#control-plane/services/offers/change.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import { getOffer, listOffers } from '#control-plane/services/offers/read.ts'
import { resetHealth } from '#control-plane/services/offers/reset-health.ts'
import { rotateCredential } from '#control-plane/services/offers/rotate.ts'
import { testConnection, testHealth } from '#control-plane/services/offers/test-provider.ts'
import { deleteConfig, listConfigs } from '#control-plane/services/sellers/configs.ts'
import { discoverModels } from '#control-plane/services/sellers/discovery.ts'
import { getEarnings } from '#control-plane/services/sellers/earnings.ts'
import { listHealthLog } from '#control-plane/services/sellers/health-log.ts'
import { getOfferShare } from '#control-plane/services/sellers/offer-share.ts'
import { getPayoutPosition } from '#control-plane/services/sellers/payout-position.ts'
import { listSalesHistory } from '#control-plane/services/sellers/sales.ts'
import { bulkCancelOffers, getSellerOperation } from '#control-plane/services/sellers/seller-operations.ts'
import { exportSellerUsage } from '#control-plane/services/sellers/seller-usage-export.ts'
import { inputOf, procedure, router } from './procedure.ts'

export const offer = router({
  create: procedure
    .input(inputOf(createOffer))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), createOffer, input, ctx.options())),
  list: procedure
    .input(inputOf(listOffers))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listOffers, input ?? {}, ctx.options())),
  get: procedure
    .input(inputOf(getOffer))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), getOffer, input, ctx.options())),
  share: procedure
    .input(inputOf(getOfferShare))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), getOfferShare, input, ctx.options())),
  update: procedure
    .input(inputOf(updateOffer))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), updateOffer, input, ctx.options())),
  delete: procedure
    .input(inputOf(deleteOffer))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), deleteOffer, input, ctx.options())),
  bulkCreate: procedure
    .input(inputOf(bulkCreateOffers))
    .mutation(async ({ ctx, input }) =>
      collectLines((await invoke(ctx.ctx, await ctx.actor(), bulkCreateOffers, input, ctx.options())).lines),
    ),
  bulkCancel: procedure.mutation(async ({ ctx }) =>
    invoke(ctx.ctx, await ctx.actor(), bulkCancelOffers, {}, ctx.options()),
  ),
  resetHealth: procedure
    .input(inputOf(resetHealth))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), resetHealth, input, ctx.options())),
  rotateCredential: procedure
    .input(inputOf(rotateCredential))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), rotateCredential, input, ctx.options())),
  healthLog: procedure
    .input(inputOf(listHealthLog))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listHealthLog, input ?? {}, ctx.options())),
})

/** Work that goes on after its answer. */
export const operation = router({
  get: procedure
    .input(inputOf(getSellerOperation))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), getSellerOperation, input, ctx.options())),
})

/** Questions to a provider under a seller's key. */
export const probe = router({
  discover: procedure
    .input(inputOf(discoverModels))
    .mutation(async ({ ctx, input }) =>
      collectLines(await invoke(ctx.ctx, await ctx.actor(), discoverModels, input, ctx.options())),
    ),
  testConnection: procedure
    .input(inputOf(testConnection))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), testConnection, input, ctx.options())),
  testHealth: procedure
    .input(inputOf(testHealth))
    .mutation(async ({ ctx, input }) =>
      collectLines(await invoke(ctx.ctx, await ctx.actor(), testHealth, input, ctx.options())),
    ),
})

export const config = router({
  list: procedure
    .input(inputOf(listConfigs).optional())
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listConfigs, input ?? {}, ctx.options())),
  delete: procedure
    .input(inputOf(deleteConfig))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), deleteConfig, input, ctx.options())),
})

export const earnings = router({
  get: procedure
    .input(inputOf(getEarnings))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), getEarnings, input ?? {}, ctx.options())),
  history: procedure
    .input(inputOf(listSalesHistory))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listSalesHistory, input ?? {}, ctx.options())),
  export: procedure
    .input(inputOf(exportSellerUsage))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), exportSellerUsage, input ?? {}, ctx.options())),
  payouts: procedure
    .input(inputOf(getPayoutPosition))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), getPayoutPosition, input ?? {}, ctx.options())),
})
