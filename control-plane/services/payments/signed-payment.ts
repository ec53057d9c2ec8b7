import type { PaymentPayload, PaymentRequirements } from '@x402/core/types'
import { z } from 'zod'
import type { SignedPayment } from '#control-plane/ports/facilitator/facilitator.ts'
import { SECOND } from '#shared/clock.ts'
import { Uint256, WalletSignature } from '#shared/wallet-words.ts'

const Address = z.string().regex(/^0x[0-9a-fA-F]{40}$/)
const Digits = Uint256

/** The signed part of a payment: EIP-3009 for `exact`, Permit2 for `upto`. */
const SignedSchema = z.union([
  z.object({
    signature: WalletSignature,
    authorization: z.object({
      from: Address,
      nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
      validBefore: Digits,
      value: Digits,
    }),
  }),
  z.object({
    signature: WalletSignature,
    permit2Authorization: z.object({
      from: Address,
      nonce: Digits,
      deadline: Digits,
      permitted: z.object({ amount: Digits }),
    }),
  }),
])

/**
 * The EIP-2612 permit for Permit2 that a payer without an allowance adds, in the form of x402's extension. A payer
 * without a permit returns the extension of the 402 unchanged.
 */
const PermitSchema = z.object({
  eip2612GasSponsoring: z.object({
    info: z.union([
      z.object({ nonce: Digits, amount: Digits, deadline: Digits, signature: WalletSignature }),
      z.object({ signature: z.undefined().optional() }),
    ]),
  }),
})
/** Unknown extensions are ignored. */
const ExtensionsSchema = PermitSchema.partial().optional()

const RequirementSchema = z.object({
  scheme: z.enum(['exact', 'upto']),
  network: z.templateLiteral(['eip155:', z.number()]),
  asset: Address,
  amount: Digits,
  payTo: Address,
  maxTimeoutSeconds: z.number().int().positive(),
  extra: z.record(z.string(), z.unknown()),
}) satisfies z.ZodType<PaymentRequirements>

const PayloadSchema = z.object({
  x402Version: z.literal(2),
  accepted: RequirementSchema,
  payload: z.record(z.string(), z.unknown()),
  resource: z.object({ url: z.string() }).optional(),
  extensions: z.record(z.string(), z.unknown()).optional(),
})

/** A payment with the members that the books need. */
export type ReadPayment = {
  readonly signed: SignedPayment
  readonly scheme: 'exact' | 'upto'
  /** In lower case. */
  readonly payer: string
  readonly nonce: string
  /** The signed amount. */
  readonly most: bigint
  readonly validUntil: Date
  /** True for a signature in the form of a plain key. A contract checks any other. */
  readonly isOfKey: boolean
  /** True when Permit2 takes the amount from the payer's allowance. */
  readonly isFromAllowance: boolean
  /** The nonce of its EIP-2612 permit; undefined where it has none. */
  readonly permitNonce: bigint | undefined
}

/** r, s and v. */
const OF_A_KEY = /^0x[0-9a-fA-F]{130}$/
/** The latest instant of the database column, the year 10000. */
const END_OF_TIME_SECONDS = 253_402_300_799n

/** Reads a payment and its requirement. Undefined when they do not fit x402, version 2. */
export function readSignedPayment(payload: unknown, requirement: unknown): ReadPayment | undefined {
  const read = PayloadSchema.safeParse(payload)
  const required = RequirementSchema.safeParse(requirement)
  if (!read.success || !required.success) return undefined
  const signed = SignedSchema.safeParse(read.data.payload)
  if (!signed.success) return undefined
  const { from, nonce, until, most } = membersOf(signed.data)
  const isFromAllowance = 'permit2Authorization' in signed.data
  const extensions = ExtensionsSchema.safeParse(read.data.extensions)
  if (!extensions.success) return undefined
  const permit = extensions.data?.eip2612GasSponsoring?.info
  const seconds = BigInt(until) > END_OF_TIME_SECONDS ? END_OF_TIME_SECONDS : BigInt(until)
  return {
    signed: { payload: asPayload(read.data), requirements: required.data },
    scheme: required.data.scheme,
    payer: from.toLowerCase(),
    nonce,
    most: BigInt(most),
    validUntil: new Date(Number(seconds) * SECOND),
    isOfKey: OF_A_KEY.test(signed.data.signature),
    isFromAllowance,
    permitNonce: isFromAllowance && permit !== undefined && 'nonce' in permit ? BigInt(permit.nonce) : undefined,
  }
}

function asPayload({ resource, extensions, ...rest }: z.infer<typeof PayloadSchema>): PaymentPayload {
  return { ...rest, ...(resource && { resource }), ...(extensions && { extensions }) }
}

type Members = { readonly from: string; readonly nonce: string; readonly until: string; readonly most: string }

function membersOf(signed: z.infer<typeof SignedSchema>): Members {
  if ('authorization' in signed) {
    const { from, nonce, validBefore: until, value: most } = signed.authorization
    return { from, nonce: nonce.toLowerCase(), until, most }
  }
  const { from, nonce, deadline: until, permitted } = signed.permit2Authorization
  // The signature covers the number. Each spelling of the number is the same authorization.
  return { from, nonce: BigInt(nonce).toString(), until, most: permitted.amount }
}
