import { z } from 'zod'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { lockPolicy } from '#control-plane/db/own-providers.ts'
import { WEBHOOK_EVENTS, WEBHOOK_FORMATS } from '#control-plane/db/tables/webhooks.ts'
import type { WebhookRow, WebhookSettings } from '#control-plane/db/webhooks.ts'
import {
  deleteWebhook,
  findWebhook,
  insertWebhook,
  listWebhooks,
  replaceWebhookSecret,
  updateWebhook,
} from '#control-plane/db/webhooks.ts'
import type { BuyerActor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Dollars, Label } from '#control-plane/services/input-fields.ts'
import { DAY, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { microUsd, microUsdToDollars } from '#shared/money.ts'
import { checkPublicUrl } from '#shared/outbound-guard.ts'
import { Secret } from '#shared/secret.ts'
import { oneLine } from '#shared/texts.ts'
import { requireOwnAddress } from './alert-mail.ts'
import { sealWebhookSecret } from './webhook-secrets.ts'
import { newWebhookSecret } from './webhook-signature.ts'

/** Most webhooks of an account. */
const MAX_WEBHOOKS = 10
/** Longest and usual time for which a replaced secret signs beside the new one. */
const MAX_WINDOW_SECONDS = (7 * DAY) / SECOND
const WINDOW_SECONDS = DAY / SECOND

/** A webhook for its owner. The secret is shown once. Instants are Unix milliseconds, amounts US dollars. */
export const WebhookViewSchema = z
  .object({
    id: z.string(),
    url: z.string(),
    label: z.string().nullable(),
    events: z.array(z.enum(WEBHOOK_EVENTS)),
    /** `balance.low` is sent below this balance; null sends none. */
    lowBalanceUsd: z.number().nullable(),
    enabled: z.boolean(),
    format: z
      .enum(WEBHOOK_FORMATS)
      .describe(
        'The event in JSON, a text for an incoming webhook of Slack, or an e-mail to a verified address (`mailto:`).',
      ),
    /** The end of the former secret's window; null when no former secret signs. */
    formerSecretUntil: z.number().nullable(),
    createdAt: z.number(),
    updatedAt: z.number(),
  })
  .meta({ id: 'Webhook', description: 'An address that gets events, with the kinds of events that it gets.' })
export type WebhookView = z.infer<typeof WebhookViewSchema>

/** A webhook with its signing secret. Only the first answer has the secret; a replay has null. */
const WebhookWithSecretSchema = WebhookViewSchema.extend({ secret: z.union([z.instanceof(Secret), z.null()]) })
export type WebhookWithSecret = z.infer<typeof WebhookWithSecretSchema>
const withoutSecret = (webhook: WebhookWithSecret): WebhookWithSecret => ({ ...webhook, secret: null })

function viewOf(row: WebhookRow): WebhookView {
  const { id, url, label, events, lowBalanceMicro, isEnabled, format, formerUntil, createdAt, updatedAt } = row
  return {
    id,
    url,
    label,
    events,
    lowBalanceUsd: lowBalanceMicro === null ? null : microUsdToDollars(microUsd(lowBalanceMicro)),
    enabled: isEnabled,
    format,
    formerSecretUntil: formerUntil?.getTime() ?? null,
    createdAt: createdAt.getTime(),
    updatedAt: updatedAt.getTime(),
  }
}

/** Finds the caller's webhook by id. Throws `not_found`, also for another buyer's. */
export async function requireWebhook(db: Database | Trx, actor: BuyerActor, id: string): Promise<WebhookRow> {
  const webhook = isId('whk', id) ? await findWebhook(db, actor.account, id) : undefined
  if (webhook === undefined) throw new AppError('not_found')
  return webhook
}

/** Returns the URL that events go to: of a public server, or of an address that the caller has verified. */
async function requireTarget(
  ctx: Pick<Ctx, 'settings' | 'mail'>,
  db: Database | Trx,
  actor: BuyerActor,
  { url, format }: Pick<WebhookSettings, 'url' | 'format'>,
): Promise<string> {
  if (format === 'email') return requireOwnAddress(ctx, db, actor, url)
  if (checkPublicUrl(url, ctx.settings.outbound) !== undefined) return url
  const message = 'A webhook needs an https URL of a public host, without user, port or fragment.'
  throw new AppError('invalid_request', { message, param: 'url' })
}

const Url = oneLine(2_048).min(1)
const Events = z
  .array(z.enum(WEBHOOK_EVENTS))
  .min(1)
  .max(WEBHOOK_EVENTS.length)
  .refine((events) => new Set(events).size === events.length, 'name each event once')

/**
 * Adds a webhook. Only the first answer has its signing secret. Throws `invalid_request`, and `conflict` above {@link
 * MAX_WEBHOOKS}.
 */
export const createWebhook = defineOperation({
  name: 'webhook.create',
  summary: 'Create a webhook',
  about:
    'Only the first answer has the signing secret. Leave `events` blank for all. With the format `email`, the URL is `mailto:` and a verified address of your account; such an alert has no secret.',
  example: { url: 'https://hooks.example.com/market', events: ['balance.low'], lowBalanceUsd: 1 },
  access: 'buyer-account',
  input: z.strictObject({
    url: Url,
    events: Events.default([...WEBHOOK_EVENTS]),
    label: Label.nullish(),
    lowBalanceUsd: Dollars.nullish(),
    enabled: z.boolean().default(true),
    format: z.enum(WEBHOOK_FORMATS).default('standard'),
  }),
  limit: 'write',
  idempotency: 'accepted',
  output: WebhookWithSecretSchema,
  forReplay: withoutSecret,
  run: async (ctx, actor, input): Promise<WebhookWithSecret> => {
    const { account } = actor
    const url = await requireTarget(ctx, ctx.db, actor, input)
    const owner = { id: ctx.ids.make('whk'), account }
    const secret = newWebhookSecret()
    const { events, label = null, lowBalanceUsd: lowBalanceMicro = null, enabled: isEnabled, format } = input
    const settings: WebhookSettings = { url, events, label, lowBalanceMicro, isEnabled, format }
    const row = await ctx.change(
      async (trx) => {
        await lockPolicy(trx, account)
        if ((await listWebhooks(trx, account)).length >= MAX_WEBHOOKS) {
          const message = `An account has at most ${MAX_WEBHOOKS} webhooks.`
          throw new AppError('conflict', { message, detail: { limit: MAX_WEBHOOKS } })
        }
        const sealed = sealWebhookSecret(ctx, owner, secret)
        await insertWebhook(trx, { ...owner, ...settings, secret: sealed, at: ctx.clock.now() })
        return requireWebhook(trx, actor, owner.id)
      },
      (row) => ({ subject: owner.id, before: null, after: viewOf(row) }),
    )
    return { ...viewOf(row), secret: format === 'email' ? null : secret }
  },
})

/** The caller's webhooks, oldest first. */
export const WebhookListSchema = z.object({
  webhooks: z.array(WebhookViewSchema).readonly(),
})
export type WebhookList = z.infer<typeof WebhookListSchema>

export const listBuyerWebhooks = defineOperation({
  name: 'webhook.list',
  summary: 'List webhooks',
  about: 'The webhooks of the account, without their secrets.',
  access: 'buyer',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: WebhookListSchema,
  run: async (ctx, actor): Promise<WebhookList> => ({
    webhooks: (await listWebhooks(ctx.db, actor.account)).map(viewOf),
  }),
})

export const WebhookInput = z.strictObject({ id: oneLine(100) })

export const getWebhook = defineOperation({
  name: 'webhook.get',
  summary: 'Get a webhook',
  about: 'One webhook of the account, without its secret.',
  access: 'buyer',
  input: WebhookInput,
  limit: 'read',
  idempotency: 'none',
  output: WebhookViewSchema,
  run: async (ctx, actor, { id }): Promise<WebhookView> => viewOf(await requireWebhook(ctx.db, actor, id)),
})

/**
 * Changes a webhook. A field that is left out stays, and null removes its value. Throws `not_found`, `invalid_request`.
 */
export const changeWebhook = defineOperation({
  name: 'webhook.update',
  summary: 'Update a webhook',
  about: 'A member that you leave out stays; null removes its value.',
  example: { lowBalanceUsd: 2 },
  access: 'buyer-account',
  input: WebhookInput.extend({
    url: Url.optional(),
    events: Events.optional(),
    label: Label.nullish(),
    lowBalanceUsd: Dollars.nullish(),
    enabled: z.boolean().optional(),
    format: z.enum(WEBHOOK_FORMATS).optional(),
  }),
  limit: 'write',
  idempotency: 'none',
  output: WebhookViewSchema,
  run: async (ctx, actor, input): Promise<WebhookView> => {
    const change = await ctx.change(
      async (trx) => {
        await lockPolicy(trx, actor.account)
        const before = await requireWebhook(trx, actor, input.id)
        const format = input.format ?? before.format
        const isEnabled = input.enabled ?? before.isEnabled
        const isMoved = input.url !== undefined || format !== before.format
        // An address may have been removed meanwhile, so its alerts are switched on again only after a check.
        const isChecked = isMoved || (format === 'email' && isEnabled)
        const target = { url: input.url ?? before.url, format }
        const settings: WebhookSettings = {
          url: isChecked ? await requireTarget(ctx, trx, actor, target) : before.url,
          events: input.events ?? before.events,
          label: input.label === undefined ? before.label : input.label,
          lowBalanceMicro: input.lowBalanceUsd === undefined ? before.lowBalanceMicro : input.lowBalanceUsd,
          isEnabled,
          format,
        }
        await updateWebhook(trx, before.id, settings, ctx.clock.now())
        return { before: viewOf(before), after: viewOf(await requireWebhook(trx, actor, input.id)) }
      },
      (change) => ({ subject: input.id, ...change }),
    )
    return change.after
  },
})

/** Removes a webhook with its secrets and its log. Waiting deliveries are dropped. Throws `not_found`. */
export const removeWebhook = defineOperation({
  name: 'webhook.remove',
  summary: 'Delete a webhook',
  about: 'The webhook’s address gets no more events.',
  example: {},
  access: 'buyer-account',
  input: WebhookInput,
  limit: 'write',
  idempotency: 'none',
  output: WebhookViewSchema,
  run: async (ctx, actor, { id }): Promise<WebhookView> => {
    const removed = await ctx.change(
      async (trx) => {
        const webhookRow = await requireWebhook(trx, actor, id)
        await deleteWebhook(trx, webhookRow.id)
        return viewOf(webhookRow)
      },
      (removed) => ({ subject: id, before: removed, after: null }),
    )
    return removed
  },
})

/**
 * Gives a webhook a new signing secret, which is shown once. The former one also signs for a window, so that the
 * receiver can change over without a gap; 0 ends it at once. Throws `not_found`.
 */
export const rotateWebhookSecret = defineOperation({
  name: 'webhook.rotate-secret',
  summary: 'Rotate the secret of a webhook',
  about: 'Both secrets sign until the window ends.',
  example: {},
  access: 'buyer-account',
  input: WebhookInput.extend({
    windowSeconds: z.number().int().min(0).max(MAX_WINDOW_SECONDS).default(WINDOW_SECONDS),
  }),
  limit: 'write',
  idempotency: 'accepted',
  output: WebhookWithSecretSchema,
  forReplay: withoutSecret,
  run: async (ctx, actor, { id, windowSeconds }): Promise<WebhookWithSecret> => {
    const at = ctx.clock.now()
    const secret = newWebhookSecret()
    const change = await ctx.change(
      async (trx) => {
        await lockPolicy(trx, actor.account)
        const before = await requireWebhook(trx, actor, id)
        if (before.format === 'email') {
          throw new AppError('conflict', { message: 'An alert by e-mail has no signing secret.' })
        }
        const sealed = sealWebhookSecret(ctx, { id: before.id, account: actor.account }, secret)
        await replaceWebhookSecret(trx, before.id, { secret: sealed, formerUntil: at + windowSeconds * SECOND, at })
        return { before: viewOf(before), after: viewOf(await requireWebhook(trx, actor, id)) }
      },
      (change) => ({ subject: id, ...change }),
    )
    return { ...change.after, secret }
  },
})
