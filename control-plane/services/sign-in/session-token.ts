import { createHmac, randomBytes } from 'node:crypto'
import { DAY } from '#shared/clock.ts'
import { Secret } from '#shared/secret.ts'

/** How long a session lasts at most, and how long it lasts unused. */
export const SESSION_MS = 7 * DAY
export const SESSION_IDLE_MS = DAY

const TOKEN_BYTES = 32
const TOKEN = /^[\w-]{43}$/

/** A new secret of a session: 32 random bytes in base64url. */
export function newSessionToken(): Secret {
  return new Secret(randomBytes(TOKEN_BYTES).toString('base64url'))
}

export function isWellFormedToken(token: string): boolean {
  return TOKEN.test(token)
}

/** What a session is stored and looked up under: HMAC-SHA-256 in hex. */
export function hashSessionToken(token: string, secret: Secret): string {
  return createHmac('sha256', secret.reveal()).update(`session:${token}`).digest('hex')
}
