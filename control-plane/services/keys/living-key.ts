import type { PresentedKey } from '#control-plane/db/keys.ts'

/** True for a key that is neither revoked nor expired. */
export function isLivingKey({ revokedAt, expiresAt }: PresentedKey, now: number): boolean {
  return revokedAt === null && (expiresAt === null || expiresAt.getTime() > now)
}
