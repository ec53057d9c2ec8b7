import { keccak256, stringToBytes } from 'viem/utils'
import { z } from 'zod'
import { isOfPaymentScheme } from '#data-plane/rails/payment-scheme.ts'
import { DAY, SECOND } from '#shared/clock.ts'
import type { PaymentTerms } from '#shared/contract/chain-payments.ts'
import type { MicroUsd } from '#shared/money.ts'
import { microUsd } from '#shared/money.ts'
import { parseJson } from '#shared/parse-json.ts'
import { Uint256, WalletSignature } from '#shared/wallet-words.ts'
import type { ChallengeFacts, ChallengeIds } from './challenge.ts'
import { factsOf, writeOpaque } from './challenge.ts'

/** The longest credential that is read, in characters. */
const MAX_CREDENTIAL_CHARS = 16_384
const SCHEME = /^payment +([A-Za-z0-9+/_-]+={0,2})$/i
/** Milliseconds for which a signature must still be valid: the longest call, and a minute to settle it. */
const LEAST_LEFT_MS = 660 * SECOND

/** The reason why a credential is refused, by the scheme: the last part of a problem's type. */
export type CredentialProblem =
  | 'malformed-credential'
  | 'invalid-challenge'
  | 'method-unsupported'
  | 'payment-expired'
  | 'invalid-payload'
  | 'payment-insufficient'
  | 'verification-failed'

const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const Digits = Uint256.regex(/^(0|[1-9]\d*)$/)

/** Older clients return the map itself. */
const Opaque = z.union([
  z.string().max(200),
  z.record(z.string().max(20), z.string().max(100)).transform((members) => writeOpaque(members)),
])

const Credential = z.object({
  challenge: z.object({
    id: z.string().max(200),
    realm: z.string().max(300),
    method: z.string(),
    intent: z.string(),
    request: z.string().max(4_096),
    expires: z.iso.datetime({ offset: true }).optional(),
    opaque: Opaque.default(''),
  }),
  payload: z.object({
    type: z.literal('authorization'),
    from: Address,
    to: Address,
    value: Digits,
    validAfter: Digits,
    validBefore: Digits,
    nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
    signature: WalletSignature,
  }),
  source: z.string().max(200).optional(),
})
export type Credential = z.infer<typeof Credential>

const Request = z.object({
  amount: Digits,
  currency: Address,
  recipient: Address,
  methodDetails: z.object({ chainId: z.number().int() }),
})

export type ReadCredential = { readonly credential: Credential } | { readonly problem: CredentialProblem }

/** Reads the credential of an Authorization header; undefined for a header of another scheme. */
export function readCredential(authorization: string | undefined): ReadCredential | undefined {
  if (!isOfPaymentScheme(authorization)) return undefined
  const [, encoded = ''] = (authorization.length <= MAX_CREDENTIAL_CHARS && SCHEME.exec(authorization)) || []
  const read = Credential.safeParse(parseJson(Buffer.from(encoded, 'base64').toString('utf8')))
  return read.success ? { credential: read.data } : { problem: 'malformed-credential' }
}

/** The requirements that a credential must meet. */
export type CredentialTerms = {
  readonly terms: PaymentTerms
  readonly realm: string
  readonly requestDigest: string
  readonly leastMicro: MicroUsd
  readonly now: number
}

/** Checks a credential as far as that is possible without the chain. Returns the amount that it pays. */
export function checkCredential(
  { challenge, payload, source }: Credential,
  ids: ChallengeIds,
  needed: CredentialTerms,
): { readonly amountMicro: MicroUsd } | { readonly problem: CredentialProblem } {
  if (challenge.method !== 'evm' || challenge.intent !== 'charge') return { problem: 'method-unsupported' }
  const request = Request.safeParse(parseJson(Buffer.from(challenge.request, 'base64url').toString('utf8')))
  if (!request.success || challenge.expires === undefined) return { problem: 'invalid-challenge' }
  const { terms, realm, requestDigest, now } = needed
  const { amount, currency, recipient, methodDetails } = request.data
  const { expires, opaque } = challenge
  const facts: ChallengeFacts = {
    realm: challenge.realm,
    amount,
    currency,
    recipient,
    chainId: methodDetails.chainId,
    expires,
    opaque,
  }
  const ours = factsOf(terms, { realm, amount, expires, opaque })
  if (!ids.isIdOf(challenge.id, facts, requestDigest) || !isSameFacts(facts, ours))
    return { problem: 'invalid-challenge' }
  if (Date.parse(expires) < now) return { problem: 'payment-expired' }
  const payee = recipient.toLowerCase()
  if (payload.to.toLowerCase() !== payee || payload.nonce.toLowerCase() !== nonceOf(challenge)) {
    return { problem: 'invalid-payload' }
  }
  if (source !== undefined && source.toLowerCase() !== `did:pkh:${terms.network}:${payload.from.toLowerCase()}`) {
    return { problem: 'invalid-payload' }
  }
  if (payload.value !== amount) return { problem: 'payment-insufficient' }
  if (!isTimely(payload, now)) return { problem: 'payment-expired' }
  const amountMicro = microUsd(BigInt(amount))
  return amountMicro < needed.leastMicro ? { problem: 'payment-insufficient' } : { amountMicro }
}

function isSameFacts(left: ChallengeFacts, right: ChallengeFacts): boolean {
  const names = ['realm', 'currency', 'recipient', 'chainId'] as const
  return names.every((name) => String(left[name]).toLowerCase() === String(right[name]).toLowerCase())
}

function isTimely({ validAfter, validBefore }: Credential['payload'], now: number): boolean {
  const opensAt = BigInt(validAfter) * 1_000n
  const closesAt = BigInt(validBefore) * 1_000n
  return opensAt <= BigInt(now) && closesAt >= BigInt(now + LEAST_LEFT_MS) && closesAt <= BigInt(now + DAY)
}

/** The only nonce of a signature for a challenge, so that the chain itself accepts each challenge once. */
function nonceOf({ id, realm }: Credential['challenge']): string {
  return keccak256(stringToBytes(`${id}${realm}`))
}
