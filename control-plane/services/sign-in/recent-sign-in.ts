import type { Trx } from '#control-plane/db/database.ts'
import { hasSession } from '#control-plane/db/sessions.ts'
import { lockUser } from '#control-plane/db/users.ts'
import type { SessionActor } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { HOUR } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'

/** Longest age of a sign-in that may change sign-in methods. A stolen cookie is mostly older. */
const RECENT_MS = HOUR

/** Throws `forbidden` for a session that is too old to change the sign-in methods of its account. */
export function requireRecentSignIn({ clock }: Pick<Ctx, 'clock'>, { signedInAt }: SessionActor): void {
  if (clock.now() - signedInAt <= RECENT_MS) return
  throw new AppError('forbidden', {
    message: 'This change needs a sign-in within the last hour. Sign out and sign in again.',
  })
}

/**
 * Locks the user of a session for a change of sign-in methods. Throws `invalid_session` for a session that ended after
 * it was read, as when its owner removes a thief's passkey while the thief's own change is under way.
 */
export async function lockSignedIn(trx: Trx, { user, sessionId }: SessionActor): Promise<void> {
  await lockUser(trx, user)
  if (!(await hasSession(trx, user, sessionId))) throw new AppError('invalid_session')
}
