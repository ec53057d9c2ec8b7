import { createHmac, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import type { Database, Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { EmailLinkRow } from '#control-plane/db/emails.ts'
import { countEmailLinks, findEmailLink, insertEmailLink, lockEmailAddress } from '#control-plane/db/emails.ts'
import { EMAIL_PURPOSES } from '#control-plane/db/tables/emails.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { MailParts } from '#control-plane/ports/mail/mail-sender.ts'
import { EmailAddress } from '#control-plane/services/mail/email-address.ts'
import { writeMail } from '#control-plane/services/mail/mail-template.ts'
import { pageOriginOf } from '#control-plane/services/mail/page-origin.ts'
import { addAddressWords, signInWords } from '#control-plane/services/mail/sign-in-texts.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { Secret } from '#shared/secret.ts'
import { oneLine } from '#shared/texts.ts'
import { Browser } from './passkey-proof.ts'
import { requireRecentSignIn } from './recent-sign-in.ts'
import { isWellFormedToken, newSignInSecret } from './session-token.ts'

const LINK_MINUTES = 15
/** Most open links of an address, over all requesters. */
const MAX_LINKS = 5
const MAX_PATH_CHARS = 500
const MAX_CODE_CHARS = 100

/** The secret of a link, as it is written after `#email=`. */
export const LinkCode = oneLine(MAX_CODE_CHARS)

/** A path of this page. It never leads to another origin. */
const OwnPath = z
  .string()
  .max(MAX_PATH_CHARS)
  .regex(/^\/(?!\/)[!-[\]-~]*$/, 'a path of this page')

/** Throws `not_found` in a market without a mail server. */
export function requireMail({ mail }: Pick<Ctx, 'mail'>): MailParts {
  if (mail === null) throw new AppError('not_found', { message: 'This market sends no e-mail.' })
  return mail
}

/** Sends a link to an address. The answer never tells whether the address has an account. */
export const createEmailLink = defineOperation({
  name: 'email-link.create',
  summary: 'Send a link to an e-mail address',
  about:
    'The link of `sign_in` signs in, or creates an account for a new address. The link of `add` adds the address to the signed-in account. A link works once, for 15 minutes. The answer is the same for every address.',
  example: { email: 'ada@example.com', purpose: 'sign_in' },
  access: 'public',
  input: z.strictObject({
    browser: Browser,
    email: EmailAddress,
    purpose: z.enum(EMAIL_PURPOSES),
    to: OwnPath.optional().describe('The path of the page to go on to.'),
  }),
  limit: 'challenge',
  countBy: ({ email }) => email,
  isAudited: false,
  idempotency: 'none',
  output: z
    .object({ expiresAt: UnixMs })
    .meta({ id: 'EmailLink', description: 'A link that was sent, with the time at which it expires.' }),
  run: async (ctx, actor: Actor, { browser, email: address, purpose, to }) => {
    const mail = requireMail(ctx)
    ctx.clocks.requireTrusted()
    const user = purpose === 'add' ? requireAdding(ctx, actor) : null
    const code = newSignInSecret()
    const createdAt = ctx.clock.now()
    const expiresAt = createdAt + LINK_MINUTES * MINUTE
    const { sessionSecret } = ctx.settings
    const hash = hashLinkCode(code.reveal(), sessionSecret)
    const link = {
      hash,
      address,
      purpose,
      user,
      browserHash: hashBrowser(browser, sessionSecret),
      createdAt,
      expiresAt,
    }
    await transact(ctx.db, async (trx) => {
      await lockEmailAddress(trx, address)
      if ((await countEmailLinks(trx, address, createdAt)) >= MAX_LINKS) throw tooMany()
      await insertEmailLink(trx, link)
    })
    const page = new URL(purpose === 'add' ? '/account' : '/sign-in', pageOriginOf(ctx.settings))
    if (to !== undefined && purpose === 'sign_in') page.searchParams.set('to', to)
    page.hash = `email=${code.reveal()}`
    const words = purpose === 'add' ? addAddressWords : signInWords
    const facts = { url: page.href, host: page.host, minutes: LINK_MINUTES }
    await mail.post(writeMail(address, words(facts)), expiresAt)
    return { expiresAt }
  },
})

function requireAdding(ctx: Pick<Ctx, 'clock'>, actor: Actor) {
  if (actor.kind !== 'session') throw new AppError('authentication_required')
  requireRecentSignIn(ctx, actor)
  return actor.user
}

function tooMany(): AppError {
  return new AppError('rate_limited', {
    message: `This address got ${MAX_LINKS} links in the last ${LINK_MINUTES} minutes. Use the newest one, or wait.`,
    retryAfterSeconds: (LINK_MINUTES * MINUTE) / SECOND,
    detail: { limit_source: 'address', limit: MAX_LINKS },
  })
}

/** Reads an open link without using it. */
export const readEmailLink = defineOperation({
  name: 'email-link.read',
  summary: 'Read a link that was sent by e-mail',
  about: 'Names the address of the link, and says whether this browser asked for the link. The link stays unused.',
  access: 'public',
  input: z.strictObject({ browser: Browser, code: LinkCode }),
  limit: 'write',
  isAudited: false,
  idempotency: 'none',
  output: z
    .object({
      email: z.string(),
      purpose: z.enum(EMAIL_PURPOSES),
      isThisBrowser: z.boolean().describe('True in the browser that asked for the link.'),
      expiresAt: UnixMs,
    })
    .meta({ id: 'OpenEmailLink', description: 'A link that was sent by e-mail and not used yet.' }),
  run: async (ctx, _actor: Actor, { browser, code }) => {
    requireMail(ctx)
    const link = await findOpenLink(ctx, ctx.db, code)
    const { address: email, purpose, expiresAt } = link
    return { email, purpose, isThisBrowser: isOfBrowser(ctx, link, browser), expiresAt: expiresAt.getTime() }
  },
})

type LinkCtx = Pick<Ctx, 'clock' | 'settings'>

/** An open link by its code. Throws `invalid_signature` for a link that was used, has expired or does not exist. */
export async function findOpenLink(ctx: LinkCtx, db: Database | Trx, code: string): Promise<EmailLinkRow> {
  const hash = linkHashOf(ctx, code)
  const link = hash && (await findEmailLink(db, hash, ctx.clock.now()))
  if (!link) throw refusedLink()
  return link
}

/** The hash of a code; undefined for a text that is no code. */
export function linkHashOf({ settings }: Pick<Ctx, 'settings'>, code: string): string | undefined {
  return isWellFormedToken(code) ? hashLinkCode(code, settings.sessionSecret) : undefined
}

/** True in the browser that asked for a link. */
export function isOfBrowser(
  { settings }: Pick<Ctx, 'settings'>,
  { browserHash }: Pick<EmailLinkRow, 'browserHash'>,
  browser: string,
): boolean {
  return timingSafeEqual(Buffer.from(browserHash), Buffer.from(hashBrowser(browser, settings.sessionSecret)))
}

export function refusedLink(): AppError {
  return new AppError('invalid_signature', {
    message: 'This link was used before, or it has expired. Ask for a new one.',
  })
}

const hashLinkCode = (code: string, secret: Secret) => hmacOf(`email link:${code}`, secret)
const hashBrowser = (browser: string, secret: Secret) => hmacOf(`email browser:${browser}`, secret)

function hmacOf(text: string, secret: Secret): string {
  return createHmac('sha256', secret.reveal()).update(text).digest('hex')
}
