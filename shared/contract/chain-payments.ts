import { z } from 'zod'
import { MicroUsdText } from './micro-usd-text.ts'
import { RequestId26 } from './request-id.ts'

/** Ways to pay by wallet. Each is a rail. */
export const CHAIN_RAILS = ['x402-upto', 'x402-exact', 'mpp'] as const
export type ChainRailName = (typeof CHAIN_RAILS)[number]

/** The control plane's paths of this contract. They are not passed on from outside. */
export const PAYMENTS_PATH = '/internal/payments'
/** The header with the secret that both planes derive; see shared/internal-token.ts. */
export const INTERNAL_TOKEN_HEADER = 'x-mkt-internal'

/** The bounds of one payment in micro-USD (SPEC.md, Limits). */
export const LEAST_PAYMENT_MICRO = 1_000n
export const MOST_PAYMENT_MICRO = 1_000_000n

const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const Hash = z.string().regex(/^0x[0-9a-fA-F]{64}$/)
const Word = z.string().min(1).max(200)

/** The terms that a wallet signs, and whether payments are open. */
export const PaymentTermsSchema = z.object({
  isOpen: z.boolean(),
  /** The reason for operators while payments are closed; null while they are open. */
  closedFor: Word.nullable(),
  /** CAIP-2, such as `eip155:8453`. */
  network: z.string().regex(/^eip155:\d{1,12}$/),
  asset: Address,
  /** Name and version of the token's EIP-712 domain. */
  assetName: Word,
  assetVersion: Word,
  payTo: Address,
  /** The only sender that may settle an `upto` payment; null disables that scheme. */
  facilitator: Address.nullable(),
  /** Ways to pay that operators have switched off. */
  switchedOff: z.array(z.enum(CHAIN_RAILS)).default([]),
})
export type PaymentTerms = z.infer<typeof PaymentTermsSchema>

/** The number of a chain by its name in CAIP-2. */
export function chainIdOf(network: string): number {
  return Number(network.slice('eip155:'.length))
}

/** A data plane's request to verify a payment and claim it for one call. */
export const ClaimAskSchema = z.strictObject({
  rid: RequestId26,
  rail: z.enum(CHAIN_RAILS),
  /** The most that may be taken. */
  amountMicro: MicroUsdText,
  /** SHA-256 in hex of the request and of the facts that its payer can present again. */
  bodyDigest: z.string().regex(/^[0-9a-f]{64}$/),
  /** Payment payload and requirement of x402, version 2, as the facilitator takes them. */
  payload: z.record(z.string(), z.unknown()),
  requirement: z.record(z.string(), z.unknown()),
  /** Unix milliseconds until which the call may run. */
  serveUntil: z.number().int().positive(),
})
export type ClaimAsk = z.input<typeof ClaimAskSchema>

/**
 * The claim in the record of a hold: enough to make it again when the ledger lost it. Without it the event alone could
 * not be settled.
 */
export const KeptClaimSchema = ClaimAskSchema.omit({ rid: true, rail: true })

/** An open claim, from the process that serves its call. */
export const HeldClaimSchema = ClaimAskSchema.extend({ account: Word })
export type HeldClaim = z.output<typeof HeldClaimSchema>
/** The same as JSON. */
export type HeldClaimText = z.input<typeof HeldClaimSchema>

/** Most claims in one report. Each has 15,000 characters at most. */
export const MAX_HELD_CLAIMS = 20
/** Open claims, reported to a restored ledger. Claims that it lost are made again. */
export const HeldClaimsSchema = z.strictObject({ claims: z.array(HeldClaimSchema).max(MAX_HELD_CLAIMS) })

/** Asks whether a wallet is a contract. The answer is null while it is unknown. */
export const WalletAskSchema = z.strictObject({ wallet: Address })
export const WalletAnswerSchema = z.object({ isContract: z.boolean().nullable() })
export type WalletAnswer = z.infer<typeof WalletAnswerSchema>

/** The standing of a payment for its buyer. */
export const PAYMENT_STANDINGS = ['serving', 'pending', 'settled', 'released', 'failed'] as const
export type PaymentStanding = (typeof PAYMENT_STANDINGS)[number]

/**
 * `claimed`: the payment is this call's. `refused`: it is invalid; the reason is a code of x402. `used`: another call
 * has it. `closed`: no payment can be taken now.
 */
export const ClaimAnswerSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('claimed'), account: Word, wallet: Address }),
  z.object({ state: z.literal('refused'), reason: Word }),
  z.object({
    state: z.literal('used'),
    rid: RequestId26,
    bodyDigest: z.string(),
    standing: z.enum(PAYMENT_STANDINGS),
    transaction: Hash.nullable(),
    /** The amount of the past or coming transfer; 0 while it is unknown. */
    amountMicro: MicroUsdText,
  }),
  z.object({ state: z.literal('closed'), reason: Word, retryAfterSeconds: z.number().int().positive() }),
])
export type ClaimAnswer = z.infer<typeof ClaimAnswerSchema>

/** The charge of a claimed payment's call. Without an event the money is taken before the service. */
export const SettleAskSchema = z.strictObject({
  rid: RequestId26,
  /** The usage event of the call as text; null before it is known. Its bytes are kept. */
  event: z.string().max(200_000).nullable(),
  chargeMicro: MicroUsdText,
  /** Milliseconds that the caller waits for the chain. */
  waitMs: z.number().int().min(0).max(30_000),
})
export type SettleAsk = z.input<typeof SettleAskSchema>

/**
 * `settled`: the transfer is in a block. `pending`: it is stored and tried again until it is. `failed`: it never can
 * be.
 */
export const SettleAnswerSchema = z.object({
  state: z.enum(['settled', 'pending', 'failed']),
  transaction: Hash.nullable(),
  /** The amount of the past or coming transfer. */
  amountMicro: MicroUsdText,
  reason: Word.nullable(),
})
export type SettleAnswer = z.infer<typeof SettleAnswerSchema>

/** The end of a call that owes nothing. */
export const ReleaseAskSchema = z.strictObject({ rid: RequestId26 })
