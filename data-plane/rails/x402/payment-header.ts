import { z } from 'zod'
import type { RequestHead } from '#data-plane/call.ts'
import { isOfPaymentScheme } from '#data-plane/rails/payment-scheme.ts'
import { parseJson } from '#shared/parse-json.ts'
import { Uint256, WalletSignature } from '#shared/wallet-words.ts'

/** The longest payment header that is read, in characters. It echoes extensions. */
const MAX_HEADER_CHARS = 16_384
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const X402_VERSION = 2
/** The name of the network in the older envelope. */
const OLDER_NETWORKS: Readonly<Record<string, string>> = { base: 'eip155:8453' }

const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const Digits = Uint256.regex(/^(0|[1-9]\d*)$/)

/** The signed part of an exact payment: EIP-3009 `TransferWithAuthorization`. */
export const ExactSigned = z.object({
  signature: WalletSignature,
  authorization: z.object({
    from: Address,
    to: Address,
    value: Digits,
    validAfter: Digits,
    validBefore: Digits,
    nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
  }),
})

/** The signed part of an upto payment: Permit2 with a witness that names the recipient and the facilitator. */
export const UptoSigned = z.object({
  signature: WalletSignature,
  permit2Authorization: z.object({
    from: Address,
    permitted: z.object({ token: Address, amount: Digits }),
    spender: Address,
    nonce: Digits,
    deadline: Digits,
    witness: z.object({ to: Address, facilitator: Address, validAfter: Digits }),
  }),
})
export type ExactSigned = z.infer<typeof ExactSigned>
export type UptoSigned = z.infer<typeof UptoSigned>

/**
 * The requirement that the payer claims to have accepted. It is compared with the market's own requirement and never
 * trusted.
 */
const Accepted = z.object({
  scheme: z.string(),
  network: z.string(),
  asset: z.string(),
  amount: Digits,
  payTo: z.string(),
  extra: z.record(z.string(), z.unknown()).optional(),
})
export type Accepted = z.infer<typeof Accepted>

/** A payment in the form of its header. */
export type SentPayment = {
  readonly accepted: Accepted | undefined
  readonly resourceUrl: string | undefined
  readonly extensions: Readonly<Record<string, unknown>> | undefined
} & (
  | { readonly scheme: 'exact'; readonly signed: ExactSigned }
  | { readonly scheme: 'upto'; readonly signed: UptoSigned }
)

/** The content of a header: a payment, or the reason why it is invalid, by x402. */
export type ReadHeader = { readonly payment: SentPayment } | { readonly reason: string }

/**
 * The payment of a request; undefined without one. Two payments are ambiguous, so both are refused: two headers of x402
 * that differ, or one beside a credential of the Payment scheme.
 */
export function sentPayment({ headers }: Pick<RequestHead, 'headers'>): ReadHeader | undefined {
  const [header, older] = [textOf(headers['payment-signature']), textOf(headers['x-payment'])]
  const either = header ?? older
  if (either === undefined) return undefined
  const isAlone = (older ?? either) === either && !isOfPaymentScheme(headers.authorization)
  return isAlone ? readPaymentHeader(either) : { reason: 'two_payments' }
}

function textOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.join(', ')
}

const Envelope = z.object({
  x402Version: z.unknown().optional(),
  accepted: Accepted.optional(),
  scheme: z.string().optional(),
  network: z.string().optional(),
  payload: z.unknown(),
  resource: z.object({ url: z.string().max(2_048) }).optional(),
  extensions: z.record(z.string(), z.unknown()).optional(),
})

/**
 * Reads a payment header: base64 of the JSON of a payment payload, version 2, or of the older envelope with `scheme`
 * and `network` at its top.
 */
export function readPaymentHeader(header: string): ReadHeader {
  if (header.length > MAX_HEADER_CHARS || !BASE64.test(header)) return { reason: 'invalid_payload' }
  const envelope = Envelope.safeParse(parseJson(Buffer.from(header, 'base64').toString('utf8')))
  if (!envelope.success) return { reason: 'invalid_payload' }
  const { x402Version, accepted, scheme: olderScheme, network: olderNetwork, payload } = envelope.data
  const isOlder = accepted === undefined && olderScheme !== undefined
  if (x402Version !== X402_VERSION && !(isOlder && x402Version === 1)) return { reason: 'invalid_x402_version' }
  const scheme = accepted?.scheme ?? olderScheme
  const networkName = accepted?.network ?? olderNetwork ?? ''
  const network = isOlder ? (OLDER_NETWORKS[networkName] ?? networkName) : networkName
  if (scheme !== 'exact' && scheme !== 'upto') return { reason: 'unsupported_scheme' }
  if (!/^eip155:\d{1,12}$/.test(network)) return { reason: 'invalid_network' }
  const rest = {
    accepted: accepted && { ...accepted, network },
    resourceUrl: envelope.data.resource?.url,
    extensions: envelope.data.extensions,
  }
  if (scheme === 'exact') {
    const signed = ExactSigned.safeParse(payload)
    return signed.success ? { payment: { ...rest, scheme, signed: signed.data } } : { reason: 'invalid_payload' }
  }
  const signed = UptoSigned.safeParse(payload)
  return signed.success ? { payment: { ...rest, scheme, signed: signed.data } } : { reason: 'invalid_payload' }
}

/** A document in the form of a header. */
export function encodeHeader(document: object): string {
  return Buffer.from(JSON.stringify(document), 'utf8').toString('base64')
}
