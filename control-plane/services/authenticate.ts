import { hashApiKey, isWellFormedKey } from '#shared/api-key.ts'
import { MINUTE } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import type { Actor } from '../actor.ts'
import { NOBODY } from '../actor.ts'
import type { PresentedKey } from '../db/keys.ts'
import { findKeyByHash, updateKeyUsed } from '../db/keys.ts'
import type { Ctx } from '../operation.ts'
import { orUnavailable } from '../operation.ts'

/** How exact the last use of a key is remembered. */
const USE_RESOLUTION_MS = MINUTE

/**
 * The actor that a key belongs to, or nobody without one. Throws `invalid_api_key` for a key that is malformed, unknown,
 * revoked or past its end; a malformed one costs no look-up. Throws `service_unavailable` while nobody can say.
 */
export async function authenticate(
  ctx: Pick<Ctx, 'db' | 'clock' | 'settings' | 'log'>,
  key: string | undefined,
): Promise<Actor> {
  if (key === undefined) return NOBODY
  if (!isWellFormedKey(key)) throw new AppError('invalid_api_key')
  const found = await orUnavailable(() => findKeyByHash(ctx.db, hashApiKey(key, ctx.settings.keyPepper)))
  const now = ctx.clock.now()
  if (found === undefined || found.revokedAt !== null) throw new AppError('invalid_api_key')
  if (found.expiresAt !== null && found.expiresAt.getTime() <= now) throw new AppError('invalid_api_key')
  const actor = actorOf(found)
  if (found.lastUsedAt === null || now - found.lastUsedAt.getTime() > USE_RESOLUTION_MS) {
    await updateKeyUsed(ctx.db, found.id, now).catch((error: unknown) =>
      ctx.log.warn({ err: error }, 'the use of a key was not noted'),
    )
  }
  return actor
}

function actorOf(key: PresentedKey): Actor {
  const { id: keyId, user, wallet, buyerAccount, sellerAccount } = key
  if (key.type === 'management') {
    return key.scope === 'operator' ? { kind: 'operator', keyId, source: 'management key' } : { kind: 'org', keyId }
  }
  if (user === null || wallet === null || buyerAccount === null || sellerAccount === null) {
    throw new AppError('internal_error')
  }
  return key.type === 'buyer'
    ? { kind: 'buyer', keyId, user, wallet, account: buyerAccount }
    : { kind: 'seller', keyId, user, wallet, account: sellerAccount }
}
