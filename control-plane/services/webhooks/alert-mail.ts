import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { countAlertMail, disableAlert, findAlertMails, findAlertUrl, hasEmail } from '#control-plane/db/alert-mail.ts'
import type { Database, Trx } from '#control-plane/db/database.ts'
import type { WebhookFormat } from '#control-plane/db/tables/webhooks.ts'
import type { BuyerActor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { MailAnswer } from '#control-plane/ports/mail/mail-sender.ts'
import { alertWords } from '#control-plane/services/mail/alert-texts.ts'
import { normalizeEmail } from '#control-plane/services/mail/email-address.ts'
import { writeMail } from '#control-plane/services/mail/mail-template.ts'
import { pageOriginOf } from '#control-plane/services/mail/page-origin.ts'
import { DAY, utcDay } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId, WebhookId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { Secret } from '#shared/secret.ts'
import { oneLine } from '#shared/texts.ts'

/** Most alerts by e-mail of one account on a UTC day. */
export const MAX_ALERT_MAILS_A_DAY = 20
const MAILTO = 'mailto:'

/** The URL of an alert to an address. */
export const alertUrlOf = (address: string) => `${MAILTO}${address}`

/**
 * Returns the URL of an alert by e-mail in its one form. Throws `invalid_request` for an address that the caller has
 * not verified, and in a market without a mail server.
 */
export async function requireOwnAddress(
  { mail }: Pick<Ctx, 'mail'>,
  db: Database | Trx,
  { user }: Pick<BuyerActor, 'user'>,
  url: string,
): Promise<string> {
  const refused = (message: string) => new AppError('invalid_request', { message, param: 'url' })
  if (mail === null) throw refused('This market sends no e-mail.')
  const address = url.startsWith(MAILTO) ? normalizeEmail(url.slice(MAILTO.length)) : undefined
  if (address === undefined) throw refused('An alert by e-mail needs a URL such as mailto:ada@example.com.')
  if (await hasEmail(db, user, address)) return alertUrlOf(address)
  throw refused('Add this address to your account first. Alerts go to verified addresses.')
}

/** A delivery that goes to an address. */
export type AlertMail = {
  readonly webhook: WebhookId
  readonly account: AccountId
  readonly url: string
  readonly format: WebhookFormat
  readonly event: string
  readonly body: string
  /** Attempts before this one. */
  readonly attempts: number
}

const Body = z.object({ data: z.record(z.string(), z.unknown()) })
/** The reason of a delivery above the limit. */
const OVER_LIMIT = {
  kind: 'refused',
  reason: `the limit of ${MAX_ALERT_MAILS_A_DAY} e-mails a day is reached`,
} as const

type SendCtx = Pick<Ctx, 'db' | 'clock' | 'settings' | 'mail'>

/**
 * Sends an alert as a mail. The first attempt counts for the account's day. The last mail within the limit says so,
 * and the first mail of the next day says how many were left out.
 */
export async function sendAlertMail(ctx: SendCtx, alert: AlertMail): Promise<MailAnswer> {
  const { mail, settings } = ctx
  if (mail === null) return { kind: 'refused', reason: 'this market sends no e-mail' }
  const notes = alert.attempts === 0 ? await notesOf(ctx, alert.account) : []
  if (notes === undefined) return OVER_LIMIT
  const { webhook, url, event, body } = alert
  const end = `${webhook}/${tokenOf(settings.linkSecret, webhook, url)}`
  const page = new URL('/unsubscribe', pageOriginOf(settings))
  page.hash = `alert=${end}`
  const words = alertWords(event, Body.parse(JSON.parse(body)).data, {
    host: page.host,
    alertsUrl: new URL('/buyer/limits', page).href,
    unsubscribeUrl: page.href,
    notes,
  })
  const unsubscribeUrl = `${settings.apiBaseUrl}/v1/buyer/unsubscribe/${end}`
  return mail.send({ ...writeMail(url.slice(MAILTO.length), words), unsubscribeUrl })
}

/** Counts an alert. Returns the sentences about the limit; undefined above it. */
async function notesOf({ db, clock }: SendCtx, account: AccountId): Promise<string[] | undefined> {
  const now = clock.now()
  const count = await countAlertMail(db, account, utcDay(now))
  if (count > MAX_ALERT_MAILS_A_DAY) return undefined
  const notes: string[] = []
  if (count === 1) {
    const missed = (await findAlertMails(db, account, utcDay(now - DAY))) - MAX_ALERT_MAILS_A_DAY
    if (missed > 0)
      notes.push(`Yesterday, ${missed} more alerts were not sent by e-mail. You find them on the alerts page.`)
  }
  if (count === MAX_ALERT_MAILS_A_DAY) {
    notes.push(`This is the last of ${count} alerts by e-mail today (UTC). You find later ones on the alerts page.`)
  }
  return notes
}

/** The token that ends an alert. Only its mails contain the token. */
function tokenOf(secret: Secret, webhook: WebhookId, url: string): string {
  return createHmac('sha256', secret.reveal()).update(`unsubscribe:${webhook}:${url}`).digest('base64url')
}

/** Ends an alert by e-mail, for the holder of one of its mails. A repeat has no effect. */
export const endAlert = defineOperation({
  name: 'alert.unsubscribe',
  summary: 'Unsubscribe from an alert by e-mail',
  about:
    'The id and the token are in each e-mail of the alert. Takes the form of a one-click unsubscribe (RFC 8058) as well.',
  access: 'public',
  input: z.strictObject({ webhook: oneLine(100), token: oneLine(100) }),
  limit: 'write',
  idempotency: 'none',
  output: z.object({ unsubscribed: z.literal(true) }).meta({ id: 'Unsubscribed', description: 'The alert is off.' }),
  run: async (ctx, _actor, { webhook, token }) => {
    await ctx.change(
      async (trx) => {
        const url = isId('whk', webhook) ? await findAlertUrl(trx, webhook) : undefined
        if (url === undefined || !isId('whk', webhook)) throw new AppError('not_found')
        const expected = Buffer.from(tokenOf(ctx.settings.linkSecret, webhook, url))
        const given = Buffer.from(token)
        if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw new AppError('not_found')
        return disableAlert(trx, webhook, ctx.clock.now())
      },
      (isNew) => (isNew ? { subject: webhook, before: { enabled: true }, after: { enabled: false } } : undefined),
    )
    return { unsubscribed: true as const }
  },
})
