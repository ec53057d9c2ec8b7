import type { Trx } from '#control-plane/db/database.ts'
import { listEmails } from '#control-plane/db/emails.ts'
import { listPasskeys } from '#control-plane/db/passkeys.ts'
import { findUser } from '#control-plane/db/users.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { AppError } from '#shared/errors.ts'
import type { UserId } from '#shared/ids.ts'

/**
 * Throws `conflict` for a user without a wallet, a passkey or an address, in the transaction that removed the last one.
 * An address counts only where the market sends mail.
 */
export async function requireSomeWay({ mail }: Pick<Ctx, 'mail'>, trx: Trx, user: UserId): Promise<void> {
  if ((await findUser(trx, user))?.wallet != null) return
  if ((await listPasskeys(trx, user, 1)).length > 0) return
  if (mail !== null && (await listEmails(trx, user, 1)).length > 0) return
  throw new AppError('conflict', { message: 'This is the only way into the account. Add another one first.' })
}
