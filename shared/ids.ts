import { randomFillSync } from 'node:crypto'
import type { Clock } from './clock.ts'

declare const requestIdBrand: unique symbol

/** Names one call in its hold, journal, event, settlement, ledger and look-up. It is a ULID of 26 characters. */
export type RequestId = string & { readonly [requestIdBrand]: true }

/** The prefixes of record ids, with the record of each. */
const ID_PREFIXES = {
  acc: 'account of the ledger',
  usr: 'buyer or seller, with a wallet or passkeys',
  ofr: 'offer',
  key: 'API key',
  crd: 'sealed credential',
  org: 'organisation',
  wsp: 'workspace',
  bdg: 'monthly budget of a member or workspace',
  inc: 'incident that operators declared',
  inv: 'invitation to an organisation',
  ivl: 'invite link of an organisation',
  ses: 'session of a browser',
  job: 'long job',
  btc: 'batch of usage events',
  opn: 'asynchronous operation',
  prv: "buyer's own provider",
  aud: 'audit entry',
  hlt: 'health event',
  whk: 'webhook',
  whd: 'delivery to a webhook',
  pay: 'payout to a seller',
  swp: 'sweep of the treasury',
  dep: 'deposit of a buyer',
  drw: 'draw from the wallet of a buyer',
  prm: 'permit of a wallet',
  psk: 'passkey of a user',
  eml: 'e-mail address of a user',
  viw: 'saved view of a list',
} as const

export type IdPrefix = keyof typeof ID_PREFIXES
export type Id<Prefix extends IdPrefix> = `${Prefix}_${string}`

export type AccountId = Id<'acc'>
export type UserId = Id<'usr'>
export type OfferId = Id<'ofr'>
export type KeyId = Id<'key'>
export type CredentialId = Id<'crd'>
export type OrganizationId = Id<'org'>
export type WorkspaceId = Id<'wsp'>
export type BudgetId = Id<'bdg'>
export type IncidentId = Id<'inc'>
export type InvitationId = Id<'inv'>
export type InviteLinkId = Id<'ivl'>
export type SessionId = Id<'ses'>
export type JobId = Id<'job'>
export type OperationId = Id<'opn'>
export type OwnProviderId = Id<'prv'>
export type WebhookId = Id<'whk'>
export type DeliveryId = Id<'whd'>
export type PayoutId = Id<'pay'>
export type SweepId = Id<'swp'>
export type DepositId = Id<'dep'>
export type DrawId = Id<'drw'>
export type PermitId = Id<'prm'>
export type PasskeyId = Id<'psk'>
export type EmailId = Id<'eml'>
export type SavedViewId = Id<'viw'>

/** Crockford's base 32, the alphabet of a ULID (github.com/ulid/spec): no letter that can be mistaken for a digit. */
export const BASE_32 = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARS = 10
const RANDOM_CHARS = 16
const RANDOM_POOL_BYTES = 8_192
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/

export type Ids = {
  /** Makes a ULID. The ULIDs of one process sort in the order of their creation. */
  ulid(): string
  requestId(): RequestId
  make<Prefix extends IdPrefix>(prefix: Prefix): Id<Prefix>
}

/** Makes ids from a clock and a source of random bytes. */
export function createIds(clock: Pick<Clock, 'now'>, fillRandom: (bytes: Uint8Array) => void = randomFillSync): Ids {
  const pool = new Uint8Array(RANDOM_POOL_BYTES)
  let next = RANDOM_POOL_BYTES
  let lastTime = -1
  const lastRandom = new Uint8Array(RANDOM_CHARS)
  // The last id is kept as bytes. A text of joined characters would have to be flattened by its first reader.
  const last = Buffer.alloc(TIME_CHARS + RANDOM_CHARS)

  function setDigit(index: number, digit: number): void {
    lastRandom[index] = digit
    last[TIME_CHARS + index] = BASE_32.charCodeAt(digit)
  }

  /** Draws random digits, or adds one to the last ones within the same millisecond. */
  function advance(isSameTime: boolean): void {
    if (isSameTime) {
      for (let index = RANDOM_CHARS - 1; index >= 0; index--) {
        const digit = ((lastRandom[index] ?? 0) + 1) % 32
        setDigit(index, digit)
        if (digit !== 0) return
      }
      return
    }
    if (next + RANDOM_CHARS > RANDOM_POOL_BYTES) {
      fillRandom(pool)
      next = 0
    }
    for (let index = 0; index < RANDOM_CHARS; index++) setDigit(index, (pool[next++] ?? 0) & 31)
  }

  function ulid(): string {
    // A clock that steps back must not break the order of ids.
    const time = Math.max(clock.now(), lastTime)
    const isSameTime = time === lastTime
    if (!isSameTime) {
      lastTime = time
      last.write(encodeTime(time), 'latin1')
    }
    advance(isSameTime)
    return last.toString('latin1')
  }

  return {
    ulid,
    requestId: () => ulid() as RequestId,
    make: (prefix) => `${prefix}_${ulid()}`,
  }
}

function encodeTime(time: number): string {
  let text = ''
  let rest = Math.floor(time)
  for (let index = 0; index < TIME_CHARS; index++) {
    text = (BASE_32[rest % 32] ?? '') + text
    rest = Math.floor(rest / 32)
  }
  return text
}

/** The instant in a ULID, in Unix milliseconds. */
export function ulidTime(ulid: string): number {
  let time = 0
  for (const char of ulid.slice(0, TIME_CHARS)) time = time * 32 + BASE_32.indexOf(char)
  return time
}

/** The smallest ULID of an instant: a bound for ranges over ids. */
export function ulidFloor(time: number): string {
  return encodeTime(time) + '0'.repeat(RANDOM_CHARS)
}

/** Parses a request id. Undefined for any other text. */
export function parseRequestId(text: string): RequestId | undefined {
  return ULID.test(text) ? (text as RequestId) : undefined
}

/** Parses a call's id as its answer's body gives it: `chatcmpl-…`, or bare. Undefined for any other text. */
export function parseAnswerId(text: string): RequestId | undefined {
  return parseRequestId(text.replace(ANSWER_PREFIX, ''))
}

const ANSWER_PREFIX = /^(chatcmpl-|cmpl-|resp_|msg_|job_)/

/** True when the text is an id of that kind: the prefix and 1 to 64 word characters. */
export function isId<Prefix extends IdPrefix>(prefix: Prefix, text: string): text is Id<Prefix> {
  return text.startsWith(`${prefix}_`) && /^[\w-]{1,64}$/.test(text.slice(prefix.length + 1))
}
