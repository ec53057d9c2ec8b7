import { createHmac, timingSafeEqual } from 'node:crypto'
import type { RawRequest } from '#data-plane/call.ts'
import { requestDigest } from '#data-plane/rails/request-digest.ts'
import { SECOND } from '#shared/clock.ts'
import type { MicroUsd } from '#shared/money.ts'
import { microUsd } from '#shared/money.ts'
import type { Secret } from '#shared/secret.ts'

/** Seconds for which a price is guaranteed, whatever the market does meanwhile. */
const QUOTE_SECONDS = 300
const MAC_BYTES = 16
const SEALED = /^(\d{1,13})\.(\d{1,10})\.([0-7][0-9A-HJKMNP-TV-Z]{25})\.([\w-]{22})$/

/** Our sealed price of one request, which any of our processes can open again. */
export type QuoteSeal = {
  /** Seals the price for one client: the seals of two requests are never the same. */
  seal(raw: RawRequest, amountMicro: MicroUsd, now: number): string
  /** The price that was sealed for such a request; undefined for anything else, and after its time. */
  open(text: unknown, raw: RawRequest, now: number): MicroUsd | undefined
}

/** Seals prices with a key that all data planes derive from one secret. `{amount}.{expiry}.{request id}.{mac}`. */
export function createQuoteSeal(pepper: Secret): QuoteSeal {
  const key = pepper.derive('prices for wallets')
  const macOf = (...facts: readonly unknown[]) =>
    createHmac('sha256', key.reveal()).update(facts.join(' ')).digest().subarray(0, MAC_BYTES)
  return {
    seal(raw, amountMicro, now) {
      const expiry = Math.floor(now / SECOND) + QUOTE_SECONDS
      const { requestId } = raw
      const mac = macOf(requestDigest(raw), amountMicro, expiry, requestId)
      return `${amountMicro}.${expiry}.${requestId}.${mac.toString('base64url')}`
    },
    open(text, raw, now) {
      const [, amount = '', expiry = '', askedText = '', mac = ''] =
        (typeof text === 'string' ? SEALED.exec(text) : null) ?? []
      if (amount === '' || Number(expiry) * SECOND < now) return undefined
      const macBytes = Buffer.from(mac, 'base64url')
      const expectedMac = macOf(requestDigest(raw), amount, expiry, askedText)
      return macBytes.length === MAC_BYTES && timingSafeEqual(macBytes, expectedMac)
        ? microUsd(BigInt(amount))
        : undefined
    },
  }
}
