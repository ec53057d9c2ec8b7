import { invoke } from '#control-plane/operation.ts'
import { listAliases, putAlias, removeAlias } from '#control-plane/services/catalog/aliases.ts'
import { diffCatalog, importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { listCatalogHistory } from '#control-plane/services/catalog/catalog-history.ts'
import { listProviders, removeProvider, trustProvider } from '#control-plane/services/catalog/provider-list.ts'
import { listPrices, putPrices } from '#control-plane/services/catalog/reference-prices.ts'
import { declareIncident, endIncident, updateIncident } from '#control-plane/services/operators/declared-incidents.ts'
import { searchAudit } from '#control-plane/services/operators/operator-audit.ts'
import {
  listFeatures,
  listRateLimits,
  putFeature,
  putRateLimit,
} from '#control-plane/services/operators/operator-controls.ts'
import {
  listFailedJobs,
  listNodes,
  listOpenHolds,
  listQueues,
  releaseOpenHold,
  retryFailedJobs,
} from '#control-plane/services/operators/operator-desk.ts'
import { delistOffer, restoreOffer, searchOffers } from '#control-plane/services/operators/operator-offers.ts'
import { readSnapshot, republishSnapshot } from '#control-plane/services/operators/operator-snapshot.ts'
import { inputOf, procedure, router } from './procedure.ts'

/** Operators' operations on the market and the running system. Nobody else's key opens any of them. */

export const catalog = router({
  import: procedure
    .input(inputOf(importCatalog))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), importCatalog, input, ctx.options())),
  diff: procedure
    .input(inputOf(diffCatalog))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), diffCatalog, input, ctx.options())),
  history: procedure
    .input(inputOf(listCatalogHistory))
    .query(async ({ ctx, input }) =>
      invoke(ctx.ctx, await ctx.actor(), listCatalogHistory, input ?? {}, ctx.options()),
    ),
})

export const alias = router({
  list: procedure
    .input(inputOf(listAliases))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listAliases, input ?? {}, ctx.options())),
  put: procedure
    .input(inputOf(putAlias))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), putAlias, input, ctx.options())),
  remove: procedure
    .input(inputOf(removeAlias))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), removeAlias, input, ctx.options())),
})

export const price = router({
  list: procedure
    .input(inputOf(listPrices))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listPrices, input, ctx.options())),
  put: procedure
    .input(inputOf(putPrices))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), putPrices, input, ctx.options())),
})

export const provider = router({
  list: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listProviders, {}, ctx.options())),
  put: procedure
    .input(inputOf(putProvider))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), putProvider, input, ctx.options())),
  trust: procedure
    .input(inputOf(trustProvider))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), trustProvider, input, ctx.options())),
  remove: procedure
    .input(inputOf(removeProvider))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), removeProvider, input, ctx.options())),
})

export const marketOffer = router({
  search: procedure
    .input(inputOf(searchOffers))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), searchOffers, input ?? {}, ctx.options())),
  delist: procedure
    .input(inputOf(delistOffer))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), delistOffer, input, ctx.options())),
  restore: procedure
    .input(inputOf(restoreOffer))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), restoreOffer, input, ctx.options())),
})

export const hold = router({
  list: procedure
    .input(inputOf(listOpenHolds))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listOpenHolds, input ?? {}, ctx.options())),
  release: procedure
    .input(inputOf(releaseOpenHold))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), releaseOpenHold, input, ctx.options())),
})

export const queue = router({
  list: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listQueues, {}, ctx.options())),
  failed: procedure
    .input(inputOf(listFailedJobs))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listFailedJobs, input, ctx.options())),
  retry: procedure
    .input(inputOf(retryFailedJobs))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), retryFailedJobs, input, ctx.options())),
})

export const node = router({
  list: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listNodes, {}, ctx.options())),
})

export const snapshot = router({
  read: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), readSnapshot, {}, ctx.options())),
  republish: procedure
    .input(inputOf(republishSnapshot))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), republishSnapshot, input, ctx.options())),
})

export const rateLimit = router({
  list: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listRateLimits, {}, ctx.options())),
  put: procedure
    .input(inputOf(putRateLimit))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), putRateLimit, input, ctx.options())),
})

export const feature = router({
  list: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listFeatures, {}, ctx.options())),
  put: procedure
    .input(inputOf(putFeature))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), putFeature, input, ctx.options())),
})

export const auditLog = router({
  search: procedure
    .input(inputOf(searchAudit))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), searchAudit, input ?? {}, ctx.options())),
})

export const incident = router({
  declare: procedure
    .input(inputOf(declareIncident))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), declareIncident, input, ctx.options())),
  update: procedure
    .input(inputOf(updateIncident))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), updateIncident, input, ctx.options())),
  end: procedure
    .input(inputOf(endIncident))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), endIncident, input, ctx.options())),
})
