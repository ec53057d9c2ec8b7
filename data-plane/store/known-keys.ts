import type { AccountPayer } from '#data-plane/payment.ts'
import type { KeyRecord } from '#shared/contract/key-record.ts'

/** Most keys in memory. The oldest are dropped first. */
const MAX_KNOWN = 50_000

export type KnownKey = {
  readonly hmac: string
  readonly record: KeyRecord
  readonly payer: AccountPayer
  /** The entry must be read again before its next use. It still serves while Redis is out of reach. */
  isStale: boolean
}

/** Keys that have been looked up, by a digest that only this process knows. */
export type KnownKeys = {
  find(digest: string): KnownKey | undefined
  remember(digest: string, entry: KnownKey): void
  forget(hmac: string): void
  /** Marks all keys, or those of one account. */
  markStale(account?: string): void
  /** A number that rises with each announced change, whether or not it found a key here. */
  turn(): number
  size(): number
}

export function createKnownKeys(): KnownKeys {
  const byDigest = new Map<string, KnownKey>()
  const digestByHmac = new Map<string, string>()
  let turn = 0

  function forget(hmac: string): void {
    const digest = digestByHmac.get(hmac)
    if (digest === undefined) return
    digestByHmac.delete(hmac)
    byDigest.delete(digest)
  }

  return {
    find: (digest) => byDigest.get(digest),
    remember(digest, entry) {
      if (byDigest.size >= MAX_KNOWN) {
        const oldest = byDigest.values().next()
        if (!oldest.done) forget(oldest.value.hmac)
      }
      byDigest.set(digest, entry)
      digestByHmac.set(entry.hmac, digest)
    },
    forget(hmac) {
      turn++
      forget(hmac)
    },
    markStale(account) {
      turn++
      for (const entry of byDigest.values()) {
        if (account === undefined || entry.record.account === account) entry.isStale = true
      }
    },
    turn: () => turn,
    size: () => byDigest.size,
  }
}
