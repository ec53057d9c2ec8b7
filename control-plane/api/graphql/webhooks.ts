import { invoke } from '#control-plane/operation/invoke.ts'
import {
  DeliveryViewSchema,
  listWebhookDeliveries,
  testWebhook,
} from '#control-plane/services/webhooks/webhook-deliveries.ts'
import type { WebhookWithSecret } from '#control-plane/services/webhooks/webhooks.ts'
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
import { inputOf } from './inputs.ts'
import { objectOf } from './objects.ts'
import { fieldOf } from './operation-fields.ts'
import { costOfPage, readPage, toEdges } from './page.ts'

const Format = builder.enumType('WebhookFormat', { values: WebhookViewSchema.shape.format.options })
const Webhook = objectOf('Webhook', WebhookViewSchema, {
  types: { format: Format },
  description:
    'A receiver of events, such as a used-up cap: a server, a Slack channel or an e-mail address. Instants are Unix milliseconds.',
})

const WithSecret = builder.objectRef<WebhookWithSecret>('WebhookWithSecret').implement({
  description: 'A webhook with its signing secret, which is shown in the first answer only.',
  fields: (t) => ({
    secret: t.string({ nullable: true, resolve: ({ secret }) => secret?.reveal() ?? null }),
    webhook: t.field({ type: Webhook, resolve: (webhook) => webhook }),
  }),
})

const Delivery = objectOf('WebhookDelivery', DeliveryViewSchema, { ints: ['attempts', 'statusCode'] })

const CreateWebhookInput = inputOf('CreateWebhookInput', createWebhook.input, { types: { format: Format } })
const UpdateWebhookInput = inputOf('UpdateWebhookInput', changeWebhook.input, { types: { format: Format } })

builder.queryFields((t) => ({
  webhooks: t.field({
    type: [Webhook],
    complexity: { field: 1, multiplier: 10 },
    ...fieldOf(listBuyerWebhooks, {}, ({ webhooks }) => webhooks),
  }),
  webhook: t.field({ type: Webhook, ...fieldOf(getWebhook) }),
  webhookDeliveries: t.connection({
    type: Delivery,
    args: { webhook: t.arg.id({ required: true }) },
    complexity: costOfPage,
    resolve: async (_root, { webhook, ...args }, { ctx, actor, options }) => {
      const input = { id: webhook, ...readPage(args) }
      return toEdges(await invoke(ctx, actor, listWebhookDeliveries, input, options), args, (delivery) => delivery)
    },
  }),
}))

builder.mutationFields((t) => ({
  createWebhook: t.field({ type: WithSecret, ...fieldOf(createWebhook, { groups: { input: CreateWebhookInput } }) }),
  updateWebhook: t.field({ type: Webhook, ...fieldOf(changeWebhook, { groups: { input: UpdateWebhookInput } }) }),
  removeWebhook: t.field({ type: Webhook, ...fieldOf(removeWebhook) }),
  rotateWebhookSecret: t.field({
    type: WithSecret,
    ...fieldOf(rotateWebhookSecret, { ints: ['windowSeconds'] }),
  }),
  testWebhook: t.field({ type: Delivery, ...fieldOf(testWebhook) }),
}))
