import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import {
  deleteEmailLink,
  deleteEmailLinks,
  findEmailUser,
  insertEmail,
  lockEmailAddress,
  updateEmailUsed,
} from '#control-plane/db/emails.ts'
import type { User } from '#control-plane/db/users.ts'
import { findUser, openUser } from '#control-plane/db/users.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { requireFeature } from '#control-plane/services/require-feature.ts'
import { AppError } from '#shared/errors.ts'
import { findOpenLink, isOfBrowser, LinkCode, linkHashOf, refusedLink, requireMail } from './email-link.ts'
import type { CreatedSession } from './open-session.ts'
import { CreatedSessionSchema, openSession } from './open-session.ts'
import { Browser } from './passkey-proof.ts'

/**
 * Signs a browser in with a link that was sent by e-mail, and opens an account for a new address. A browser that did
 * not ask for the link has to confirm, because mail scanners open links.
 */
export const createEmailSession = defineOperation({
  name: 'email-session.create',
  summary: 'Sign a browser in with an e-mail link',
  about:
    'The code is in the link after `#email=`. In another browser than the one that asked, the answer is 409 until `isConfirmed` is true. A new address gets an account. Sets a cookie, as a sign-in does.',
  access: 'public',
  input: z.strictObject({
    browser: Browser,
    code: LinkCode,
    isConfirmed: z.boolean().default(false).describe('True once the reader has confirmed the sign-in on this browser.'),
  }),
  limit: 'write',
  isCountedByRun: true,
  idempotency: 'none',
  output: CreatedSessionSchema,
  run: async (ctx, actor: Actor, { browser, code, isConfirmed }): Promise<CreatedSession> => {
    await ctx.count()
    requireMail(ctx)
    ctx.clocks.requireTrusted()
    const link = await findOpenLink(ctx, ctx.db, code)
    if (link.purpose !== 'sign_in') throw refusedLink()
    if (!isOfBrowser(ctx, link, browser) && !isConfirmed) throw unconfirmed()
    const { address } = link
    if ((await findEmailUser(ctx.db, address)) === undefined) await requireFeature(ctx, 'sign_ups')
    const signedIn = await transact(ctx.db, async (trx) => {
      await lockEmailAddress(trx, address)
      const hash = linkHashOf(ctx, code)
      if (hash === undefined || (await deleteEmailLink(trx, hash, ctx.clock.now())) === undefined) throw refusedLink()
      const user = await userOfAddress(ctx, trx, address)
      await updateEmailUsed(trx, address, ctx.clock.now())
      await deleteEmailLinks(trx, address)
      return { user: user.id, session: await openSession(ctx, trx, user, actor) }
    })
    ctx.announce('sessions', [signedIn.user])
    return signedIn.session
  },
})

/** The user of a locked address, who is made for a new address. */
async function userOfAddress(ctx: Pick<RunCtx, 'clock' | 'ids'>, trx: Trx, address: string): Promise<User> {
  const known = await findEmailUser(trx, address)
  const owner = known && (await findUser(trx, known))
  if (owner !== undefined) return owner
  const createdAt = ctx.clock.now()
  const { ids } = ctx
  const user = { id: ids.make('usr'), wallet: null, buyerAccount: ids.make('acc'), sellerAccount: ids.make('acc') }
  await openUser(trx, user, createdAt)
  if (!(await insertEmail(trx, { id: ids.make('eml'), user: user.id, address, createdAt }))) throw refusedLink()
  return user
}

function unconfirmed(): AppError {
  return new AppError('conflict', {
    message: 'Another browser asked for this link. Confirm to sign in here.',
    detail: { needs: 'confirmation' },
  })
}
