import type { PaymentPayload, PaymentRequirements, SupportedResponse } from '@x402/core/types'
import type { Leave } from './leave.ts'

/** A payment of x402, version 2, with the requirement that it must meet. */
export type SignedPayment = { readonly payload: PaymentPayload; readonly requirements: PaymentRequirements }

/** The verdict on a payment. `reason` is a code of x402. */
export type Verdict =
  | { readonly isValid: true; readonly payer: string }
  | { readonly isValid: false; readonly reason: string }

/**
 * The state of a transfer. `pending` may still happen: it was sent, or its state is unknown. `refused` means that this
 * attempt moved nothing, and has the code of x402.
 */
export type Transfer =
  | { readonly state: 'mined'; readonly transaction: string }
  | { readonly state: 'pending'; readonly transaction: string | null; readonly reason: string }
  | { readonly state: 'refused'; readonly reason: string }

/** Verifies and settles payments of wallets on the chain. */
export type Facilitator = {
  /** Throws when the chain or the facilitator is out of reach. */
  verify(payment: SignedPayment): Promise<Verdict>
  /**
   * Transfers the amount of the requirement. A repeat for the same authorization never sends a second transaction; it
   * returns the state of the first. Nothing is signed here once the permission is invalid. Never rejects.
   */
  settle(payment: SignedPayment, leave: Leave): Promise<Transfer>
  /** The kinds of payments that can be settled now. Throws when that is unknown. */
  supported(): Promise<SupportedResponse>
}

/**
 * The name of an authorization, which is its reference everywhere: network, asset, payer and nonce, in one spelling.
 */
export function refOf({ payload, requirements }: SignedPayment): string | undefined {
  const { authorization, permit2Authorization } = payload.payload
  const signed: unknown = authorization ?? permit2Authorization
  if (typeof signed !== 'object' || signed === null || !('from' in signed) || !('nonce' in signed)) return undefined
  const { from, nonce } = signed
  if (typeof from !== 'string' || typeof nonce !== 'string') return undefined
  const name = /^\d{1,78}$/.test(nonce) ? BigInt(nonce).toString() : nonce
  return [requirements.network, requirements.asset, from, name].join(' ').toLowerCase()
}
