import { invoke } from '#control-plane/operation/invoke.ts'
import type { DeliveryView } from '#control-plane/services/webhooks/webhook-deliveries.ts'
import {
  DeliveryViewSchema,
  listWebhookDeliveries,
  testWebhook,
} from '#control-plane/services/webhooks/webhook-deliveries.ts'
import type { WebhookView, WebhookWithSecret } from '#control-plane/services/webhooks/webhooks.ts'
import {
  changeWebhook,
  createWebhook,
  getWebhook,
  listBuyerWebhooks,
  removeWebhook,
  rotateWebhookSecret,
  WebhookViewSchema,
} from '#control-plane/services/webhooks/webhooks.ts'
import { builder } from './builder.ts'
import { membersOf } from './members.ts'
import { withKey } from './offers.ts'
import { costOfPage, readPage, toConnection } from './page.ts'

const Webhook = builder.objectRef<WebhookView>('Webhook').implement({
  description: 'Where a buyer is told of caps and balances. Instants are Unix milliseconds.',
  fields: (t) => membersOf(t, WebhookViewSchema),
})

const WithSecret = builder.objectRef<WebhookWithSecret>('WebhookWithSecret').implement({
  description: 'A webhook with its signing secret, which is shown in the first answer only.',
  fields: (t) => ({
    secret: t.string({ nullable: true, resolve: ({ secret }) => secret?.reveal() ?? null }),
    webhook: t.field({ type: Webhook, resolve: (shown) => shown }),
  }),
})

const Delivery = builder.objectRef<DeliveryView>('WebhookDelivery').implement({
  fields: (t) => membersOf(t, DeliveryViewSchema, { ints: ['attempts', 'statusCode'] }),
})

const CreateWebhookInput = builder.inputType('CreateWebhookInput', {
  fields: (t) => ({
    url: t.string({ required: true }),
    events: t.stringList(),
    label: t.string(),
    lowBalanceUsd: t.float(),
    enabled: t.boolean(),
  }),
})

const UpdateWebhookInput = builder.inputType('UpdateWebhookInput', {
  fields: (t) => ({
    url: t.string(),
    events: t.stringList(),
    label: t.string(),
    lowBalanceUsd: t.float(),
    enabled: t.boolean(),
  }),
})

builder.queryFields((t) => ({
  webhooks: t.field({
    type: [Webhook],
    complexity: { field: 1, multiplier: 10 },
    resolve: async (_root, _args, { ctx, actor, options }) =>
      (await invoke(ctx, actor, listBuyerWebhooks, {}, options)).webhooks,
  }),
  webhook: t.field({
    type: Webhook,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, getWebhook, { id }, options),
  }),
  webhookDeliveries: t.connection({
    type: Delivery,
    args: { webhook: t.arg.id({ required: true }) },
    complexity: costOfPage,
    resolve: async (_root, args, { ctx, actor, options }) =>
      toConnection(
        await invoke(ctx, actor, listWebhookDeliveries, { id: args.webhook, ...readPage(args) }, options),
        args,
      ),
  }),
}))

builder.mutationFields((t) => ({
  createWebhook: t.field({
    type: WithSecret,
    args: { input: t.arg({ type: CreateWebhookInput, required: true }), idempotencyKey: t.arg.string() },
    resolve: (_root, { input, idempotencyKey }, { ctx, actor, options }) => {
      const fields = Object.fromEntries(Object.entries(input).filter(([, value]) => value != null))
      return invoke(ctx, actor, createWebhook, fields, withKey(options, idempotencyKey))
    },
  }),
  updateWebhook: t.field({
    type: Webhook,
    args: { id: t.arg.id({ required: true }), input: t.arg({ type: UpdateWebhookInput, required: true }) },
    resolve: (_root, { id, input }, { ctx, actor, options }) =>
      invoke(ctx, actor, changeWebhook, { ...input, id }, options),
  }),
  removeWebhook: t.field({
    type: Webhook,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, removeWebhook, { id }, options),
  }),
  rotateWebhookSecret: t.field({
    type: WithSecret,
    args: { id: t.arg.id({ required: true }), windowSeconds: t.arg.int(), idempotencyKey: t.arg.string() },
    resolve: (_root, { id, windowSeconds, idempotencyKey }, { ctx, actor, options }) => {
      const input = { id, ...(windowSeconds == null ? {} : { windowSeconds }) }
      return invoke(ctx, actor, rotateWebhookSecret, input, withKey(options, idempotencyKey))
    },
  }),
  testWebhook: t.field({
    type: Delivery,
    args: { id: t.arg.id({ required: true }) },
    resolve: (_root, { id }, { ctx, actor, options }) => invoke(ctx, actor, testWebhook, { id }, options),
  }),
}))
