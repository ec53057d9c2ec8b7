import { z } from 'zod'
import { deleteAlertMailDays } from '#control-plane/db/alert-mail.ts'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { hasWebhooks } from '#control-plane/db/open-work.ts'
import { DELIVERY_STATUSES } from '#control-plane/db/tables/webhooks.ts'
import type { DeliveryResult, DeliveryRow, SendableDelivery } from '#control-plane/db/webhook-deliveries.ts'
import {
  findDelivery,
  findSendable,
  insertDelivery,
  listDeliveries,
  listStrayDeliveries,
  listUntriedDeliveries,
  noteAttempt,
  purgeDeliveries,
} from '#control-plane/db/webhook-deliveries.ts'
import { findWebhookFormat } from '#control-plane/db/webhooks.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { PageSize } from '#control-plane/services/input-fields.ts'
import { PageToken, pagesById, signedPageSchema } from '#control-plane/services/page.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY, utcDay } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { DeliveryId, WebhookId } from '#shared/ids.ts'
import { sendAlertMail } from './alert-mail.ts'
import { slackBodyOf } from './slack-body.ts'
import { openWebhookSecret } from './webhook-secrets.ts'
import { SIGNATURE_HEADER, signDelivery } from './webhook-signature.ts'
import { requireWebhook, WebhookInput } from './webhooks.ts'

/** Time for which deliveries and alert marks are kept. It exceeds the longest period of a single alert. */
const KEPT_MS = 40 * DAY
const PURGE_BATCH = 5_000

/** An event for a webhook, before it is written as a body. */
export type Announcement = { readonly event: string; readonly data: object }

/** Stores a delivery. Either a worker sends it, or, with `isBeingTried`, the caller at once by its id. */
export async function addDelivery(
  ctx: Pick<Ctx, 'ids' | 'clock'>,
  db: Database | Trx,
  webhook: WebhookId,
  { event, data, isBeingTried = false }: Announcement & { readonly isBeingTried?: boolean },
): Promise<DeliveryId> {
  const id = ctx.ids.make('whd')
  const at = ctx.clock.now()
  const isForSlack = (await findWebhookFormat(db, webhook)) === 'slack'
  const body = JSON.stringify(isForSlack ? slackBodyOf({ event, data }) : { id, type: event, created_at: at, data })
  await insertDelivery(db, { id, webhook, event, body, at, isBeingTried })
  return id
}

/** False without webhooks, when there is nothing to look for and nothing to send. */
export function isAnybodyListening({ db }: Pick<Ctx, 'db'>): Promise<boolean> {
  return hasWebhooks(db)
}

type SendCtx = Pick<Ctx, 'db' | 'clock' | 'settings' | 'sendWebhook' | 'mail' | 'log'>

/**
 * Tries a delivery once and stores the result. `retry` asks for another attempt; the last attempt never returns it.
 * Each attempt signs the body anew, so that the signed time is the time of sending.
 */
export async function attemptDelivery(
  ctx: SendCtx,
  id: DeliveryId,
  { isLast }: { readonly isLast: boolean },
): Promise<'delivered' | 'retry' | 'failed' | 'gone'> {
  const sendable = await findSendable(ctx.db, id)
  if (sendable === undefined || sendable.status !== 'pending') return 'gone'
  if (!sendable.isEnabled) {
    await noteAttempt(ctx.db, id, { status: 'failed', statusCode: null, error: 'switched off', at: ctx.clock.now() })
    return 'failed'
  }
  const { isFinal, ...result } = sendable.format === 'email' ? await mail(ctx, sendable) : await send(ctx, id, sendable)
  const isOver = isLast || isFinal
  const status = result.status === 'failed' && !isOver ? 'pending' : result.status
  await noteAttempt(ctx.db, id, { ...result, status })
  if (result.status === 'delivered') return 'delivered'
  return isOver ? 'failed' : 'retry'
}

/** A final result is not tried again. */
type Attempt = DeliveryResult & { readonly isFinal: boolean }

async function mail(ctx: SendCtx, delivery: SendableDelivery): Promise<Attempt> {
  const answer = await sendAlertMail(ctx, delivery)
  const at = ctx.clock.now()
  if (answer.kind === 'sent') return { status: 'delivered', statusCode: null, error: null, at, isFinal: true }
  return { status: 'failed', statusCode: null, error: answer.reason, at, isFinal: answer.kind === 'refused' }
}

async function send(ctx: SendCtx, id: DeliveryId, delivery: SendableDelivery): Promise<Attempt> {
  const at = ctx.clock.now()
  const owner = { id: delivery.webhook, account: delivery.account }
  const secrets = [openWebhookSecret(ctx, owner, delivery.secret)]
  if (delivery.formerSecret !== null && delivery.formerUntil !== null && delivery.formerUntil.getTime() > at) {
    secrets.push(openWebhookSecret(ctx, owner, delivery.formerSecret))
  }
  const answer = await ctx.sendWebhook({
    url: delivery.url,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'market-webhook',
      'x-mkt-event': delivery.event,
      'x-mkt-delivery': id,
      [SIGNATURE_HEADER]: signDelivery(delivery.body, at, secrets),
    },
    body: delivery.body,
  })
  if (answer.kind === 'unreachable')
    return { status: 'failed', statusCode: null, error: answer.reason, at, isFinal: false }
  const isTaken = answer.status >= 200 && answer.status < 300
  const error = isTaken ? null : `answered ${answer.status}`
  return { status: isTaken ? 'delivered' : 'failed', statusCode: answer.status, error, at, isFinal: false }
}

/** A delivery for its owner. Instants are Unix milliseconds. `body` is the text that was signed and sent. */
export const DeliveryViewSchema = z
  .object({
    id: z.string(),
    event: z.string(),
    status: z.enum(DELIVERY_STATUSES),
    attempts: Count,
    /** The HTTP status and the error of the last attempt. */
    statusCode: Count.nullable(),
    error: z.string().nullable(),
    body: z.string(),
    createdAt: UnixMs,
    attemptedAt: UnixMs.nullable(),
    deliveredAt: UnixMs.nullable(),
  })
  .meta({ id: 'Delivery', description: 'An attempt to send an event to a webhook.' })
export type DeliveryView = z.infer<typeof DeliveryViewSchema>
export const DeliveryPageSchema = signedPageSchema(DeliveryViewSchema)
export type DeliveryPage = z.infer<typeof DeliveryPageSchema>

function viewOf({ createdAt, attemptedAt, deliveredAt, ...row }: DeliveryRow): DeliveryView {
  return {
    ...row,
    createdAt: createdAt.getTime(),
    attemptedAt: attemptedAt?.getTime() ?? null,
    deliveredAt: deliveredAt?.getTime() ?? null,
  }
}

/** Lists the deliveries of the caller's webhook, newest first. Throws `not_found`. */
export const listWebhookDeliveries = defineOperation({
  name: 'webhook.deliveries',
  summary: 'List the deliveries of webhooks',
  about: 'Deliveries to the webhook and the answers of its address.',
  example: { maxItems: 10 },
  access: 'buyer',
  input: WebhookInput.extend({
    maxItems: PageSize,
    nextToken: PageToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: DeliveryPageSchema,
  run: async (ctx, actor, { id, maxItems, nextToken }): Promise<DeliveryPage> => {
    const hook = await requireWebhook(ctx.db, actor, id)
    const pages = pagesById(ctx, { list: 'webhook.deliveries', tenant: hook.id })
    const deliveries = await listDeliveries(ctx.db, hook.id, { before: pages.idIn(nextToken), limit: maxItems + 1 })
    return pages.pageOf(deliveries, maxItems, viewOf)
  },
})

/** Sends a test message to the caller's webhook once, at once, and returns the result. Throws `not_found`. */
export const testWebhook = defineOperation({
  name: 'webhook.test',
  summary: 'Send a test event',
  about: 'Sends one event to the webhook’s address.',
  example: {},
  access: 'buyer-account',
  input: WebhookInput,
  limit: 'probe',
  idempotency: 'none',
  output: DeliveryViewSchema,
  run: async (ctx, actor, { id }): Promise<DeliveryView> => {
    const hook = await requireWebhook(ctx.db, actor, id)
    const data = { webhook_id: hook.id, message: 'This is a test.' }
    const delivery = await ctx.change(
      (trx) => addDelivery(ctx, trx, hook.id, { event: 'webhook.test', data, isBeingTried: true }),
      (made) => ({ subject: id, before: null, after: { delivery: made } }),
    )
    await attemptDelivery(ctx, delivery, { isLast: true })
    const deliveryRow = await findDelivery(ctx.db, delivery)
    if (deliveryRow === undefined) throw new AppError('not_found')
    return viewOf(deliveryRow)
  },
})

/** Removes a batch of old deliveries, alert marks and counts of e-mails. Returns the number of rows. */
export async function purgeWebhookLog({ db, clock }: Pick<Ctx, 'db' | 'clock'>): Promise<number> {
  const before = clock.now() - KEPT_MS
  return (await purgeDeliveries(db, before, PURGE_BATCH)) + (await deleteAlertMailDays(db, utcDay(before)))
}

/** Deliveries that were written and not tried yet, at most `limit`. */
export function listUntried(ctx: Pick<Ctx, 'db'>, limit: number): Promise<string[]> {
  return listUntriedDeliveries(ctx.db, limit)
}

/** Waiting deliveries without an attempt for `afterMs` milliseconds, at most `limit`. */
export function listStrays(ctx: Pick<Ctx, 'db' | 'clock'>, afterMs: number, limit: number): Promise<string[]> {
  return listStrayDeliveries(ctx.db, ctx.clock.now() - afterMs, limit)
}
