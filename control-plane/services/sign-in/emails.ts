import { z } from 'zod'
import { disableAlertsTo } from '#control-plane/db/alert-mail.ts'
import {
  deleteEmail,
  deleteEmailLink,
  deleteEmailLinks,
  insertEmail,
  listEmails,
  lockEmailAddress,
} from '#control-plane/db/emails.ts'
import { deleteOtherSessions } from '#control-plane/db/passkeys.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { isId } from '#shared/ids.ts'
import { oneLine } from '#shared/texts.ts'
import { findOpenLink, LinkCode, linkHashOf, refusedLink, requireMail } from './email-link.ts'
import { lockSignedIn, requireRecentSignIn } from './recent-sign-in.ts'
import { requireSomeWay } from './some-way.ts'

/** Most addresses of one user. */
export const MAX_EMAILS = 5

export const EmailSchema = z
  .object({ id: z.string(), email: z.string(), createdAt: UnixMs, lastUsedAt: UnixMs.nullable() })
  .meta({ id: 'Email', description: 'A verified e-mail address that signs the user in.' })
export type EmailView = z.infer<typeof EmailSchema>

/** Adds the address of a link to the account that asked for the link. */
export const createEmail = defineOperation({
  name: 'email.create',
  summary: 'Add an e-mail address to the account',
  about: `The code is in the link that \`email-link.create\` sent for \`add\`. Only the account that asked can use the link. An account has at most ${MAX_EMAILS} addresses.`,
  access: 'session',
  input: z.strictObject({ code: LinkCode }),
  limit: 'write',
  idempotency: 'none',
  output: EmailSchema,
  run: async (ctx, actor, { code }): Promise<EmailView> => {
    requireMail(ctx)
    ctx.clocks.requireTrusted()
    const { user } = actor
    const id = ctx.ids.make('eml')
    const createdAt = ctx.clock.now()
    const email = await ctx.change(
      async (trx) => {
        await lockSignedIn(trx, actor)
        const { address } = await findOpenLink(ctx, trx, code)
        await lockEmailAddress(trx, address)
        const hash = linkHashOf(ctx, code)
        const link = hash === undefined ? undefined : await deleteEmailLink(trx, hash, createdAt)
        if (link === undefined || link.purpose !== 'add' || link.user !== user) throw refusedLink()
        if ((await listEmails(trx, user, MAX_EMAILS)).length === MAX_EMAILS) {
          throw new AppError('conflict', { message: `An account has at most ${MAX_EMAILS} e-mail addresses.` })
        }
        if (!(await insertEmail(trx, { id, user, address, createdAt }))) {
          throw new AppError('conflict', { message: 'This address already belongs to an account. Sign in with it.' })
        }
        await deleteEmailLinks(trx, address)
        return address
      },
      () => ({ subject: id, before: null, after: { email: 'added' } }),
    )
    return { id, email, createdAt, lastUsedAt: null }
  },
})

/** Removes an address and ends the other sessions of its user. The last sign-in method stays. */
export const removeEmail = defineOperation({
  name: 'email.remove',
  summary: 'Delete an e-mail address of the account',
  about: 'Signs other browsers out and ends alerts to the address. You cannot delete the only way into the account.',
  access: 'session',
  input: z.strictObject({ email: oneLine(100).describe('The id of the address, `eml_…`.') }),
  limit: 'write',
  idempotency: 'none',
  output: EmailSchema,
  run: async (ctx, actor, { email: id }): Promise<EmailView> => {
    requireRecentSignIn(ctx, actor)
    const { user, sessionId } = actor
    const removed = await ctx.change(
      async (trx) => {
        await lockSignedIn(trx, actor)
        const found = (await listEmails(trx, user, MAX_EMAILS)).find((row) => row.id === id)
        if (found === undefined || !isId('eml', id)) throw new AppError('not_found')
        await deleteEmail(trx, user, id)
        await requireSomeWay(ctx, trx, user)
        await deleteEmailLinks(trx, found.address)
        await disableAlertsTo(trx, `mailto:${found.address}`, ctx.clock.now())
        await deleteOtherSessions(trx, user, sessionId)
        return viewEmail(found)
      },
      () => ({ subject: id, before: { email: 'removed' }, after: null }),
    )
    ctx.announce('sessions', [user])
    return removed
  },
})

export function viewEmail(row: Awaited<ReturnType<typeof listEmails>>[number]): EmailView {
  const { id, address: email, createdAt, lastUsedAt } = row
  return { id, email, createdAt: createdAt.getTime(), lastUsedAt: lastUsedAt?.getTime() ?? null }
}
