import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { MINUTE } from '#shared/clock.ts'
import type { Secret } from '#shared/secret.ts'

/** Time in which a challenge may be answered. */
export const CHALLENGE_MS = 5 * MINUTE

const TIME_HEX = 12
const RANDOM_BYTES = 10
const NONCE_HEAD = TIME_HEX + RANDOM_BYTES * 2
const NONCE = /^[0-9a-f]{64}$/

/**
 * Makes a nonce: its time, random digits, and our HMAC over both and the subject; 64 hex digits. Nothing is stored
 * until it is used, because the HMAC proves its origin.
 */
export function makeNonce(secret: Secret, subject: string, now: number): string {
  const head = now.toString(16).padStart(TIME_HEX, '0') + randomBytes(RANDOM_BYTES).toString('hex')
  return head + sealOf(secret, subject, head)
}

/** Returns the end of a nonce in Unix milliseconds; undefined for a nonce that was not issued to this subject. */
export function endOfNonce(secret: Secret, subject: string, nonce: string): number | undefined {
  if (!NONCE.test(nonce)) return undefined
  const head = nonce.slice(0, NONCE_HEAD)
  const isOurs = timingSafeEqual(Buffer.from(sealOf(secret, subject, head)), Buffer.from(nonce.slice(NONCE_HEAD)))
  return isOurs ? Number.parseInt(head.slice(0, TIME_HEX), 16) + CHALLENGE_MS : undefined
}

function sealOf(secret: Secret, subject: string, head: string): string {
  const mac = createHmac('sha256', secret.reveal()).update(`sign-in nonce:${subject}:${head}`)
  return mac.digest('hex').slice(0, 64 - NONCE_HEAD)
}
