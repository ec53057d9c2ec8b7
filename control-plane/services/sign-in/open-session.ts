import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { deleteOldSessions, insertSession } from '#control-plane/db/sessions.ts'
import type { User } from '#control-plane/db/users.ts'
import type { Actor } from '#control-plane/operation/actor.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { UnixMs } from '#control-plane/services/view-fields.ts'
import { Secret } from '#shared/secret.ts'
import { endFormer } from './end-former.ts'
import { hashSessionToken, newSignInSecret, SESSION_MS } from './session-token.ts'

/** Most sessions of one user. A new one ends the oldest. */
const MAX_SESSIONS = 20

/** A new session. `token` is the cookie's value. Times are Unix milliseconds. */
export const CreatedSessionSchema = z.object({
  id: z.string(),
  wallet: z.string().nullable(),
  createdAt: UnixMs,
  expiresAt: UnixMs,
  token: z.instanceof(Secret),
})
export type CreatedSession = z.infer<typeof CreatedSessionSchema>

type OpenCtx = Pick<RunCtx, 'clock' | 'ids' | 'settings' | 'record'>

/** Opens a session of a user. The session of the request ends, so a cookie is never older than its sign-in. */
export async function openSession(
  ctx: OpenCtx,
  trx: Trx,
  { id: user, wallet }: Pick<User, 'id' | 'wallet'>,
  former: Actor,
): Promise<CreatedSession> {
  const token = newSignInSecret()
  const createdAt = ctx.clock.now()
  const expiresAt = createdAt + SESSION_MS
  const id = ctx.ids.make('ses')
  const hash = hashSessionToken(token.reveal(), ctx.settings.sessionSecret)
  await endFormer(trx, former)
  await insertSession(trx, { id, hash, user, createdAt, expiresAt })
  await deleteOldSessions(trx, user, MAX_SESSIONS)
  await ctx.record(trx, { subject: id, before: null, after: { wallet, expiresAt }, by: user })
  return { id, wallet, createdAt, expiresAt, token }
}
