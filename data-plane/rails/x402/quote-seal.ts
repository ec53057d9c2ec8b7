import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { RawRequest } from '#data-plane/call.ts'
import { SECOND } from '#shared/clock.ts'
import type { MicroUsd } from '#shared/money.ts'
import { microUsd } from '#shared/money.ts'
import type { Secret } from '#shared/secret.ts'

/** Seconds for which a price stands, whatever the market does meanwhile. */
const QUOTE_SECONDS = 300
const MAC_BYTES = 16
const SEALED = /^(\d{1,13})\.(\d{1,10})\.([\w-]{22})$/

/** Digests of requests that are being served. Each rail of a path asks for that of its call. */
const digests = new WeakMap<RawRequest, string>()

/**
 * SHA-256 in hex of what a request asks for: its method, its path with floor, its query, the target that it names, and
 * its body. Of a body that is streamed only the length is known by then.
 */
export function requestDigest(raw: RawRequest): string {
  const known = digests.get(raw)
  if (known !== undefined) return known
  const digest = digestOf(raw)
  digests.set(raw, digest)
  return digest
}

function digestOf(raw: RawRequest): string {
  const { method, path, query, pathFloorPercent, body, stream, headers } = raw
  const length = stream === undefined ? '' : (headers['content-length'] ?? '')
  const target = headers['x-target-url'] ?? ''
  return createHash('sha256')
    .update(`${method} ${pathFloorPercent ?? ''} ${path} ${length}\n${query}\n${target}\n`)
    .update(body)
    .digest('hex')
}

/** Our own word for the price of one request, which any of our processes can read again. */
export type QuoteSeal = {
  seal(digest: string, amountMicro: MicroUsd, now: number): string
  /** The price that was sealed for this request; undefined for anything else, and after its time. */
  open(text: unknown, digest: string, now: number): MicroUsd | undefined
}

/** Seals prices with a key that all data planes derive from one secret. `{amount}.{expiry}.{mac}`. */
export function createQuoteSeal(pepper: Secret): QuoteSeal {
  const key = pepper.derive('prices for wallets')
  /** The newest seal. A call that has two ways to pay asks for the same one twice. */
  let last = { facts: '', sealed: '' }
  const macOf = (facts: string) => createHmac('sha256', key.reveal()).update(facts).digest().subarray(0, MAC_BYTES)
  return {
    seal(digest, amountMicro, now) {
      const expiry = Math.floor(now / SECOND) + QUOTE_SECONDS
      const facts = `${digest} ${amountMicro} ${expiry}`
      if (last.facts !== facts) {
        last = { facts, sealed: `${amountMicro}.${expiry}.${macOf(facts).toString('base64url')}` }
      }
      return last.sealed
    },
    open(text, digest, now) {
      const [, amount = '', expiry = '', mac = ''] = (typeof text === 'string' ? SEALED.exec(text) : null) ?? []
      if (amount === '' || Number(expiry) * SECOND < now) return undefined
      const given = Buffer.from(mac, 'base64url')
      const expected = macOf(`${digest} ${amount} ${expiry}`)
      return given.length === MAC_BYTES && timingSafeEqual(given, expected) ? microUsd(BigInt(amount)) : undefined
    },
  }
}
