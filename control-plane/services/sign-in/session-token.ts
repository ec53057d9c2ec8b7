import { createHmac, randomBytes } from 'node:crypto'
import { DAY, MINUTE, SECOND } from '#shared/clock.ts'
import { Secret } from '#shared/secret.ts'

/** Longest life of a session, and longest time without use. */
export const SESSION_MS = 7 * DAY
export const SESSION_IDLE_MS = DAY

/** The life of a sign-in link: the default and the maximum. */
export const CODE_SECONDS = { standard: (10 * MINUTE) / SECOND, most: DAY / SECOND } as const

const TOKEN_BYTES = 32
const TOKEN = /^[\w-]{43}$/

/** Makes the secret of a session or of a sign-in link: 32 random bytes in base64url. */
export function newSignInSecret(): Secret {
  return new Secret(randomBytes(TOKEN_BYTES).toString('base64url'))
}

export function isWellFormedToken(token: string): boolean {
  return TOKEN.test(token)
}

/** The value that the database keeps in place of a session token: HMAC-SHA-256 in hex. */
export function hashSessionToken(token: string, secret: Secret): string {
  return createHmac('sha256', secret.reveal()).update(`session:${token}`).digest('hex')
}

/** The value that the database keeps in place of a sign-in code. */
export function hashSignInCode(code: string, secret: Secret): string {
  return createHmac('sha256', secret.reveal()).update(`sign-in code:${code}`).digest('hex')
}
