import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Secret } from './secret.ts'

/** The token by which the planes recognise each other. It is derived from a secret that only they have. */
export function internalToken(pepper: Secret): Secret {
  return pepper.derive('between the planes')
}

/** Compares a token in constant time, so that the time reveals nothing about it. */
export function isInternalToken(secret: Secret, token: string | undefined): boolean {
  if (token === undefined) return false
  const [left, right] = [secret.reveal(), token].map((text) => createHmac('sha256', 'compare').update(text).digest())
  return left !== undefined && right !== undefined && timingSafeEqual(left, right)
}
