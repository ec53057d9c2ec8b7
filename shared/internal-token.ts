import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Secret } from './secret.ts'

/** The token by which the planes know each other. It is derived from a secret that only they have. */
export function internalToken(pepper: Secret): Secret {
  return pepper.derive('between the planes')
}

/** Compares a given token without telling by its time how much of it was right. */
export function isInternalToken(secret: Secret, token: string | undefined): boolean {
  if (token === undefined) return false
  const [left, right] = [secret.reveal(), token].map((text) => createHmac('sha256', 'compare').update(text).digest())
  return left !== undefined && right !== undefined && timingSafeEqual(left, right)
}
