import type { PresentedKey } from '#control-plane/db/keys.ts'
import { findKeyByHash, updateKeyUsed } from '#control-plane/db/keys.ts'
import { findSessionByHash, updateSessionUsed } from '#control-plane/db/sessions.ts'
import type { Actor, SessionActor } from '#control-plane/operation/actor.ts'
import { NOBODY } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { orUnavailable } from '#control-plane/operation/or-unavailable.ts'
import { hashApiKey, isWellFormedKey } from '#shared/api-key.ts'
import { MINUTE } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { isBounded } from './keys/key-terms.ts'
import { hashSessionToken, isWellFormedToken, SESSION_IDLE_MS } from './sign-in/session-token.ts'

/** Precision of the stored last use of a key or session. */
const USE_RESOLUTION_MS = MINUTE

type AuthCtx = Pick<Ctx, 'db' | 'clock' | 'settings' | 'log'>

/**
 * Returns the actor of a key, or nobody without one. Throws `invalid_api_key` for a key that is malformed, unknown,
 * revoked or expired. A malformed key costs no look-up. Throws `service_unavailable` when the database cannot answer.
 */
export async function authenticate(ctx: AuthCtx, key: string | undefined): Promise<Actor> {
  if (key === undefined) return NOBODY
  if (!isWellFormedKey(key)) throw new AppError('invalid_api_key')
  const found = await orUnavailable(() => findKeyByHash(ctx.db, hashApiKey(key, ctx.settings.keyPepper)))
  const now = ctx.clock.now()
  if (found === undefined || found.revokedAt !== null) throw new AppError('invalid_api_key')
  if (found.expiresAt !== null && found.expiresAt.getTime() <= now) throw new AppError('invalid_api_key')
  const actor = actorOf(found)
  if (found.lastUsedAt === null || now - found.lastUsedAt.getTime() > USE_RESOLUTION_MS) {
    await noteUse(ctx, updateKeyUsed(ctx.db, found.id, now))
  }
  return actor
}

/**
 * Returns the wallet of a session's cookie. Throws `invalid_session` for a token that is malformed, unknown, ended or
 * expired, and `service_unavailable` when the database cannot answer.
 */
export async function authenticateSession(ctx: AuthCtx, token: string): Promise<SessionActor> {
  if (!isWellFormedToken(token)) throw new AppError('invalid_session')
  const hash = hashSessionToken(token, ctx.settings.sessionSecret)
  const found = await orUnavailable(() => findSessionByHash(ctx.db, hash))
  const now = ctx.clock.now()
  if (found === undefined || found.expiresAt.getTime() <= now) throw new AppError('invalid_session')
  const idleMs = now - found.lastUsedAt.getTime()
  if (idleMs >= SESSION_IDLE_MS) throw new AppError('invalid_session')
  if (idleMs > USE_RESOLUTION_MS) await noteUse(ctx, updateSessionUsed(ctx.db, found.id, now))
  const { id: sessionId, user, wallet, buyerAccount, sellerAccount } = found
  return { kind: 'session', sessionId, user, wallet, buyerAccount, sellerAccount }
}

async function noteUse(ctx: AuthCtx, written: Promise<void>): Promise<void> {
  await written.catch((error: unknown) => ctx.log.warn({ err: error }, 'the use of a credential was not noted'))
}

function actorOf(key: PresentedKey): Actor {
  const { id: keyId, user, wallet, buyerAccount, sellerAccount, organization, role } = key
  if (key.type === 'management') {
    if (key.scope === 'operator') return { kind: 'operator', keyId, source: 'management key' }
    if (organization === null || role === null) throw new AppError('invalid_api_key')
    return { kind: 'org', keyId, organization, role }
  }
  if (user === null || wallet === null || buyerAccount === null || sellerAccount === null) {
    throw new AppError('internal_error')
  }
  const workspace =
    key.workspace === null || organization === null ? undefined : { id: key.workspace, organization, isReadOnly: false }
  return key.type === 'buyer'
    ? { kind: 'buyer', keyId, user, wallet, account: buyerAccount, workspace, isBounded: isBounded(key) }
    : { kind: 'seller', keyId, user, wallet, account: sellerAccount, workspace }
}
