import { createHash, randomBytes } from 'node:crypto'
import type { RawRequest } from '#data-plane/call.ts'
import type { RepeatProof } from '#data-plane/payment.ts'
import { DAY, MINUTE } from '#shared/clock.ts'
import { requestDigest } from './request-digest.ts'

/** Milliseconds for which the same client may present a payment again and get its answer again. */
const RETRY_MS = 10 * MINUTE
/** The same for a client with a secret of its own: the longest time in which a payment can be presented. */
const KEYED_RETRY_MS = DAY
/** The fewest characters of an `Idempotency-Key` that an attacker cannot guess. */
const LEAST_KEY_CHARS = 16
/**
 * The fewest characters of a word that an attacker cannot guess. Our own words for prices and the ids of challenges are
 * longer.
 */
const LEAST_WORD_CHARS = 22

/**
 * Binds the answer of a paid request to facts that only its payer has. A payment is public once it is on the chain, and
 * its request may be guessed. `word` is the part of the payment that never reaches the chain: our own word for the
 * price of this request, which no other client received, or the id of its challenge. With it, the answer is for the
 * address that paid, because a copy of the whole payment may be in a log. A client with an `Idempotency-Key` of its own
 * needs no more, from any address.
 */
export function repeatProof(raw: RawRequest, word: unknown): RepeatProof {
  const request = requestDigest(raw)
  const key = raw.headers['idempotency-key']
  if (typeof key === 'string' && key.length >= LEAST_KEY_CHARS) {
    return { digest: digestOf(request, 'key', key, typeof word === 'string' ? word : ''), keptMs: KEYED_RETRY_MS }
  }
  if (typeof word !== 'string' || word.length < LEAST_WORD_CHARS) {
    return { digest: digestOf(request, 'once', randomBytes(32).toString('hex'), ''), keptMs: 0 }
  }
  return { digest: digestOf(request, 'address', raw.peer(), word), keptMs: RETRY_MS }
}

function digestOf(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}
