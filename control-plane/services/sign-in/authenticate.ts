import type { PresentedKey } from '#control-plane/db/keys.ts'
import { findKeyByHash, updateKeyUsed } from '#control-plane/db/keys.ts'
import type { SessionRow } from '#control-plane/db/sessions.ts'
import { findKeySessionByHash, findSessionByHash, updateSessionUsed } from '#control-plane/db/sessions.ts'
import type { Actor, BuyerActor, OperatorActor, OrgActor, SellerActor } from '#control-plane/operation/actor.ts'
import { NOBODY } from '#control-plane/operation/actor.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { orUnavailable } from '#control-plane/operation/or-unavailable.ts'
import { isBounded } from '#control-plane/services/keys/key-terms.ts'
import { isLivingKey, requireThawed } from '#control-plane/services/keys/living-key.ts'
import { hashApiKey, isWellFormedKey } from '#shared/api-key.ts'
import { MINUTE } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { hashSessionToken, isWellFormedToken, SESSION_IDLE_MS } from './session-token.ts'

/** Precision of the stored last use of a key or session. */
const USE_RESOLUTION_MS = MINUTE

type AuthCtx = Pick<Ctx, 'db' | 'clock' | 'settings' | 'log'>

/**
 * Returns the actor of a key, or the anonymous actor without one. Throws `invalid_api_key` for a key that is malformed,
 * unknown, revoked or expired, and `key_frozen`. A malformed key costs no look-up. Throws `service_unavailable` when
 * the database cannot answer.
 */
export async function authenticate(ctx: AuthCtx, key: string | undefined): Promise<Actor> {
  if (key === undefined) return NOBODY
  if (!isWellFormedKey(key)) throw new AppError('invalid_api_key')
  const keyRow = await orUnavailable(() => findKeyByHash(ctx.db, hashApiKey(key, ctx.settings.keyPepper)))
  if (keyRow === undefined || !isLivingKey(keyRow, ctx.clock.now())) throw new AppError('invalid_api_key')
  return useKey(ctx, keyRow)
}

async function useKey(ctx: AuthCtx, key: PresentedKey): Promise<KeyedActor> {
  requireThawed(key)
  const now = ctx.clock.now()
  const actor = actorOf(key)
  if (key.lastUsedAt === null || now - key.lastUsedAt.getTime() > USE_RESOLUTION_MS) {
    await noteUse(ctx, updateKeyUsed(ctx.db, key.id, now))
  }
  return actor
}

/**
 * Returns the user or the key of a session's cookie. Throws `invalid_session` for a token that is malformed, unknown,
 * ended or expired, or whose key has ended or is frozen, and `service_unavailable` when the database cannot answer.
 */
export async function authenticateSession(ctx: AuthCtx, token: string): Promise<Actor> {
  if (!isWellFormedToken(token)) throw new AppError('invalid_session')
  const hash = hashSessionToken(token, ctx.settings.sessionSecret)
  const sessionRow = await orUnavailable(() => findSessionByHash(ctx.db, hash))
  if (sessionRow !== undefined) {
    await useSession(ctx, sessionRow)
    const { id: sessionId, user, wallet, buyerAccount, sellerAccount } = sessionRow
    const signedInAt = sessionRow.createdAt.getTime()
    return { kind: 'session', sessionId, signedInAt, user, wallet, buyerAccount, sellerAccount }
  }
  const byKey = await orUnavailable(() => findKeySessionByHash(ctx.db, hash))
  if (byKey === undefined || !isLivingKey(byKey.key, ctx.clock.now())) throw new AppError('invalid_session')
  if (byKey.key.isFrozen) {
    throw new AppError('invalid_session', { message: 'The key of this session is frozen. Sign in another way.' })
  }
  await useSession(ctx, byKey)
  return { ...(await useKey(ctx, byKey.key)), keySession: byKey.id }
}

/** Records the use of a session. Throws `invalid_session` for an ended session. */
async function useSession(ctx: AuthCtx, session: Pick<SessionRow, 'id' | 'lastUsedAt' | 'expiresAt'>): Promise<void> {
  const now = ctx.clock.now()
  const idleMs = now - session.lastUsedAt.getTime()
  if (session.expiresAt.getTime() <= now || idleMs >= SESSION_IDLE_MS) throw new AppError('invalid_session')
  if (idleMs > USE_RESOLUTION_MS) await noteUse(ctx, updateSessionUsed(ctx.db, session.id, now))
}

async function noteUse(ctx: AuthCtx, written: Promise<void>): Promise<void> {
  await written.catch((error: unknown) => ctx.log.warn({ err: error }, 'the use of a credential was not noted'))
}

type KeyedActor = BuyerActor | SellerActor | OrgActor | OperatorActor

function actorOf(key: PresentedKey): KeyedActor {
  const { id: keyId, user, wallet, buyerAccount, sellerAccount, organization, role } = key
  if (key.type === 'management') {
    if (key.scope === 'operator') return { kind: 'operator', keyId, source: 'management key' }
    if (organization === null || role === null) throw new AppError('invalid_api_key')
    return { kind: 'org', keyId, organization, role }
  }
  if (user === null || buyerAccount === null || sellerAccount === null) {
    throw new AppError('internal_error')
  }
  const workspace =
    key.workspace === null || organization === null ? undefined : { id: key.workspace, organization, isReadOnly: false }
  return key.type === 'buyer'
    ? { kind: 'buyer', keyId, user, wallet, account: buyerAccount, workspace, isBounded: isBounded(key) }
    : { kind: 'seller', keyId, user, wallet, account: sellerAccount, workspace }
}
