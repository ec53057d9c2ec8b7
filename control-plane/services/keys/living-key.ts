import type { PresentedKey } from '#control-plane/db/keys.ts'
import { AppError } from '#shared/errors.ts'

/** True for a key that is neither revoked nor expired. */
export function isLivingKey({ revokedAt, expiresAt }: PresentedKey, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt.getTime() > now)
}

/** Throws `key_frozen`. Such a key opens no account path: a thief with its secret could unfreeze it. */
export function requireThawed({ isFrozen }: PresentedKey): void {
  if (isFrozen) throw new AppError('key_frozen')
}
