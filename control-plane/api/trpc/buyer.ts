import { invoke } from '#control-plane/operation.ts'
import { listBuyerUsage, listUsageBuckets } from '#control-plane/services/buyers/buyer-usage.ts'
import { exportBuyerUsage } from '#control-plane/services/buyers/buyer-usage-export.ts'
import { listOwnJobs } from '#control-plane/services/buyers/jobs.ts'
import { getLatency } from '#control-plane/services/buyers/latency.ts'
import { getSavings } from '#control-plane/services/buyers/savings.ts'
import { listStatements } from '#control-plane/services/buyers/statements.ts'
import { listCaps } from '#control-plane/services/keys/key-caps.ts'
import { listWebhookDeliveries, testWebhook } from '#control-plane/services/webhooks/webhook-deliveries.ts'
import type { WebhookWithSecret } from '#control-plane/services/webhooks/webhooks.ts'
import {
  changeWebhook,
  createWebhook,
  getWebhook,
  listBuyerWebhooks,
  removeWebhook,
  rotateWebhookSecret,
} from '#control-plane/services/webhooks/webhooks.ts'
import { inputOf, procedure, router } from './procedure.ts'

/** What a buyer used, paid and saved. */
export const usage = router({
  list: procedure
    .input(inputOf(listBuyerUsage))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listBuyerUsage, input ?? {}, ctx.options())),
  buckets: procedure
    .input(inputOf(listUsageBuckets))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listUsageBuckets, input ?? {}, ctx.options())),
  latency: procedure
    .input(inputOf(getLatency))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), getLatency, input ?? {}, ctx.options())),
  export: procedure
    .input(inputOf(exportBuyerUsage))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), exportBuyerUsage, input ?? {}, ctx.options())),
})

export const job = router({
  list: procedure
    .input(inputOf(listOwnJobs))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listOwnJobs, input ?? {}, ctx.options())),
})

export const cap = router({
  list: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listCaps, {}, ctx.options())),
})

export const savings = router({
  get: procedure
    .input(inputOf(getSavings))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), getSavings, input ?? {}, ctx.options())),
})

export const statement = router({
  list: procedure
    .input(inputOf(listStatements))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listStatements, input ?? {}, ctx.options())),
})

/** A webhook with its signing secret as text: in the first answer only. */
function shown({ secret, ...hook }: WebhookWithSecret) {
  return { ...hook, secret: secret?.reveal() ?? null }
}

export const webhook = router({
  create: procedure
    .input(inputOf(createWebhook))
    .mutation(async ({ ctx, input }) =>
      shown(await invoke(ctx.ctx, await ctx.actor(), createWebhook, input, ctx.options())),
    ),
  list: procedure.query(async ({ ctx }) => invoke(ctx.ctx, await ctx.actor(), listBuyerWebhooks, {}, ctx.options())),
  get: procedure
    .input(inputOf(getWebhook))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), getWebhook, input, ctx.options())),
  update: procedure
    .input(inputOf(changeWebhook))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), changeWebhook, input, ctx.options())),
  remove: procedure
    .input(inputOf(removeWebhook))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), removeWebhook, input, ctx.options())),
  rotateSecret: procedure
    .input(inputOf(rotateWebhookSecret))
    .mutation(async ({ ctx, input }) =>
      shown(await invoke(ctx.ctx, await ctx.actor(), rotateWebhookSecret, input, ctx.options())),
    ),
  test: procedure
    .input(inputOf(testWebhook))
    .mutation(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), testWebhook, input, ctx.options())),
  deliveries: procedure
    .input(inputOf(listWebhookDeliveries))
    .query(async ({ ctx, input }) => invoke(ctx.ctx, await ctx.actor(), listWebhookDeliveries, input, ctx.options())),
})
