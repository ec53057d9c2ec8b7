import { z } from 'zod'
import { endAlert } from '#control-plane/services/webhooks/alert-mail.ts'
import { listWebhookDeliveries, testWebhook } from '#control-plane/services/webhooks/webhook-deliveries.ts'
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
import type { RestRow } from './route.ts'
import { restRow, writtenAs } from './route.ts'

const envelope = 'v1'
const one = '/v1/buyer/webhooks/:id'
/** The path to which mail programs post their own form. */
export const UNSUBSCRIBE_PATH = '/v1/buyer/unsubscribe/:webhook/:token'

/** A webhook with its signing secret. Only the first answer has the secret. */
const WITH_SECRET = writtenAs(
  WebhookViewSchema.extend({
    secret: z.string().optional().describe('The secret that signs deliveries (Standard Webhooks). It is shown once.'),
  }).meta({
    id: 'WebhookWithSecret',
    description: 'A webhook with the secret that signs its deliveries. It is shown once.',
  }),
  ({ secret, ...hook }: WebhookWithSecret) => (secret === null ? hook : { ...hook, secret: secret.reveal() }),
)

/** Webhooks of a buyer. */
export const WEBHOOK_ROWS: readonly RestRow[] = [
  restRow({
    method: 'POST',
    path: '/v1/buyer/webhooks',
    tag: 'Webhooks',
    refusals: [403],
    status: 201,
    envelope,
    operation: createWebhook,
    body: WITH_SECRET,
  }),
  restRow({ method: 'GET', path: '/v1/buyer/webhooks', tag: 'Webhooks', envelope, operation: listBuyerWebhooks }),
  restRow({ method: 'GET', path: one, tag: 'Webhooks', envelope, operation: getWebhook }),
  restRow({ method: 'PATCH', path: one, tag: 'Webhooks', refusals: [403], envelope, operation: changeWebhook }),
  restRow({
    method: 'DELETE',
    path: one,
    tag: 'Webhooks',
    refusals: [403],
    status: 204,
    envelope,
    operation: removeWebhook,
  }),
  restRow({
    method: 'POST',
    path: `${one}/rotate-secret`,
    tag: 'Webhooks',
    refusals: [403],
    envelope,
    operation: rotateWebhookSecret,
    body: WITH_SECRET,
  }),
  restRow({ method: 'POST', path: `${one}/test`, tag: 'Webhooks', refusals: [403], envelope, operation: testWebhook }),
  restRow({
    method: 'POST',
    path: UNSUBSCRIBE_PATH,
    tag: 'Webhooks',
    refusals: [404],
    envelope,
    operation: endAlert,
  }),
  restRow({ method: 'GET', path: `${one}/deliveries`, tag: 'Webhooks', envelope, operation: listWebhookDeliveries }),
]
