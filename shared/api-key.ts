import { createHash, createHmac, randomBytes } from 'node:crypto'
import { Secret } from './secret.ts'

/** The kinds of keys and their prefixes. */
const KEY_PREFIXES = { buyer: 'inf_', seller: 'mkt_seller_', management: 'mkt_mgmt_' } as const
export type KeyType = keyof typeof KEY_PREFIXES

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const SECRET_BYTES = 32
/** 32 bytes in base 62. */
const SECRET_CHARS = 43
const CHECKSUM_CHARS = 6
const SHOWN_CHARS = 8

/** Makes a new key. `key` is shown once; lists may show `prefix`. */
export function newApiKey(
  type: KeyType,
  random: (bytes: number) => Uint8Array = randomBytes,
): { secret: Secret; keyPrefix: string } {
  const body = toBase62(random(SECRET_BYTES), SECRET_CHARS)
  const head = KEY_PREFIXES[type] + body
  return { secret: new Secret(head + checksum(head)), keyPrefix: KEY_PREFIXES[type] + body.slice(0, SHOWN_CHARS) }
}

/** Reads the type of a key from its prefix, well-formed or not. Undefined for a foreign prefix. */
export function keyTypeOf(key: string): KeyType | undefined {
  for (const type of ['seller', 'management', 'buyer'] as const) if (key.startsWith(KEY_PREFIXES[type])) return type
  return undefined
}

/** The part of a key, or of its beginning, that lists show. Undefined for a text that begins like no key. */
export function shownPartOf(key: string): string | undefined {
  const type = keyTypeOf(key)
  return type === undefined ? undefined : key.slice(0, KEY_PREFIXES[type].length + SHOWN_CHARS)
}

/** True when the length, alphabet and checksum fit. A key that fails was never issued and needs no look-up. */
export function isWellFormedKey(key: string): boolean {
  const type = keyTypeOf(key)
  if (type === undefined) return false
  const body = key.slice(KEY_PREFIXES[type].length)
  if (body.length !== SECRET_CHARS + CHECKSUM_CHARS || !/^[0-9A-Za-z]+$/.test(body)) return false
  return checksum(key.slice(0, -CHECKSUM_CHARS)) === key.slice(-CHECKSUM_CHARS)
}

/** HMAC-SHA-256 of a key under the pepper, in hex. Keys are stored and looked up under it. */
export function hashApiKey(key: string, pepper: Secret): string {
  return createHmac('sha256', pepper.reveal()).update(key).digest('hex')
}

function checksum(text: string): string {
  return toBase62(createHash('sha256').update(text).digest().subarray(0, 5), 7).slice(-CHECKSUM_CHARS)
}

function toBase62(bytes: Uint8Array, chars: number): string {
  let value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
  let text = ''
  for (let index = 0; index < chars; index++) {
    text = (ALPHABET[Number(value % 62n)] ?? '0') + text
    value /= 62n
  }
  return text
}
