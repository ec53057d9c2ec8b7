import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { ReceiptFacts } from '#data-plane/rails/claim.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import { chainIdOf } from '#shared/contract/chain-payments.ts'
import type { Secret } from '#shared/secret.ts'

// The Payment scheme of HTTP authentication, method `evm`, intent `charge` (draft-httpauth-payment-00,
// draft-evm-charge-00).

/** The members of a challenge that a payer's signature covers. */
export type ChallengeFacts = {
  /** The bare host name. */
  readonly realm: string
  /** Micro-USD, the token's own units. */
  readonly amount: string
  /** The token. */
  readonly currency: string
  readonly recipient: string
  readonly chainId: number
  /** RFC 3339. */
  readonly expires: string
  /** The request that the challenge is for, see {@link opaqueOf}. No two requests have the same challenge. */
  readonly opaque: string
}

/** Names challenges so that none has to be stored: a changed member, or another request, gives another name. */
export type ChallengeIds = {
  idOf(facts: ChallengeFacts, requestDigest: string): string
  isIdOf(id: string, facts: ChallengeFacts, requestDigest: string): boolean
}

export function createChallengeIds(pepper: Secret): ChallengeIds {
  const key = pepper.derive('challenges for wallets')
  const idOf = (
    { realm, amount, currency, recipient, chainId, expires, opaque }: ChallengeFacts,
    requestDigest: string,
  ) =>
    createHmac('sha256', key.reveal())
      .update([realm, amount, currency, recipient, chainId, expires, requestDigest].join('|').toLowerCase())
      .update(`|${opaque}`)
      .digest('base64url')
  return {
    idOf,
    isIdOf(id, facts, requestDigest) {
      const [idBytes, expectedBytes] = [Buffer.from(id), Buffer.from(idOf(facts, requestDigest))]
      return idBytes.length === expectedBytes.length && timingSafeEqual(idBytes, expectedBytes)
    },
  }
}

/** The members of a challenge under our terms. */
export function factsOf(
  terms: PaymentTerms,
  of: Pick<ChallengeFacts, 'realm' | 'amount' | 'expires' | 'opaque'>,
): ChallengeFacts {
  const { asset: currency, payTo: recipient, network } = terms
  return { ...of, currency, recipient, chainId: chainIdOf(network) }
}

/** USDC has six decimals everywhere. */
const DECIMALS = 6

/** A challenge in the form of `WWW-Authenticate`. `digest` is the body's; undefined while it is unknown. */
export function writeChallenge(id: string, facts: ChallengeFacts, digest: string | undefined): string {
  const { realm, amount, currency, recipient, chainId, expires, opaque } = facts
  const methodDetails = { chainId, credentialTypes: ['authorization'], decimals: DECIMALS }
  // Members are in the order of their names, as clients serialise them.
  const request = Buffer.from(JSON.stringify({ amount, currency, methodDetails, recipient })).toString('base64url')
  const members = { id, realm, method: 'evm', intent: 'charge', request, ...(digest && { digest }), expires, opaque }
  const pairs = Object.entries(members).map(([name, value]) => `${name}="${value}"`)
  return `Payment ${pairs.join(', ')}`
}

/** The `opaque` member of a request's challenge, which clients return unchanged. */
export function opaqueOf(requestId: string): string {
  return writeOpaque({ request_id: requestId })
}

/** A map of texts in the encoding of the scheme. */
export function writeOpaque(members: Readonly<Record<string, string>>): string {
  return Buffer.from(JSON.stringify(members)).toString('base64url')
}

/** The digest of a body in the form of the scheme. */
export function bodyDigest(body: Buffer): string {
  return `sha-256=${createHash('sha256').update(body).digest('base64')}`
}

/** A settlement in the form of `Payment-Receipt`. */
export function writeReceipt(transaction: string, { record, challengeId }: ReceiptFacts, at: number): string {
  const network = record?.['network']
  const receipt = {
    method: 'evm',
    challengeId,
    reference: transaction,
    status: 'success',
    timestamp: new Date(at).toISOString(),
    ...(typeof network === 'string' && { chainId: chainIdOf(network) }),
  }
  return Buffer.from(JSON.stringify(receipt)).toString('base64url')
}
