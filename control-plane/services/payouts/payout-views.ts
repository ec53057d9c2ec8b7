import { z } from 'zod'
import { TRANSFER_MODES, TRANSFER_STATES } from '#control-plane/db/tables/treasury.ts'
import type { TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import { calldataOf, typedDataOf } from '#control-plane/ports/treasury/authorization.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'
import { MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { authorizationOf } from './sign-transfers.ts'

/**
 * The states of a payout for its seller. `scheduled`: the worker signs it next. `held`: an operator has to look.
 * `authorized`: the seller may submit it to the chain. `in_flight`: it is on the way to the chain. `paid`: it is final.
 * `returned`: the money is available again.
 */
export const PAYOUT_STATUSES = ['scheduled', 'held', 'authorized', 'in_flight', 'paid', 'returned'] as const
export type PayoutStatus = (typeof PAYOUT_STATUSES)[number]

export const PayoutViewSchema = z
  .object({
    payoutId: z.string(),
    status: z.enum(PAYOUT_STATUSES),
    recipient: z.string(),
    amountUsdc: MicroDigits,
    selfSubmit: z.boolean(),
    reason: z.string().nullable().describe('The reason why the payout is held, late or returned, as a code.'),
    txHash: z.string().nullable(),
    block: z.number().int().nullable(),
    createdAt: UnixMs,
    confirmedAt: UnixMs.nullable().describe('The time at which the transfer was final, in Unix milliseconds.'),
  })
  .meta({ id: 'Payout', description: 'A payment of earnings to a seller, with its transfer.' })
export type PayoutView = z.infer<typeof PayoutViewSchema>

export function statusOf({ state, mode }: Pick<TreasuryTransfer, 'state' | 'mode'>): PayoutStatus {
  if (state === 'signed') return mode === 'self_submit' ? 'authorized' : 'in_flight'
  return state === 'mined' ? 'in_flight' : state
}

export function viewPayout(payout: TreasuryTransfer): PayoutView {
  const { id, recipient, amount, mode, reason, transaction, block, plannedAt, state, endedAt } = payout
  return {
    payoutId: id,
    status: statusOf(payout),
    recipient,
    amountUsdc: amount.toString(),
    selfSubmit: mode === 'self_submit',
    reason,
    txHash: transaction,
    block: block === null ? null : Number(block),
    createdAt: plannedAt.getTime(),
    confirmedAt: state === 'paid' ? (endedAt?.getTime() ?? null) : null,
  }
}

/**
 * A signed EIP-3009 authorization, ready to be sent: a transaction of the recipient to `to` with `data`. `typedData` is
 * the signed message, as JSON of EIP-712.
 */
export const PayoutAuthorizationSchema = z
  .object({
    primaryType: z.literal('ReceiveWithAuthorization'),
    chainId: z.number().int(),
    to: z.string().describe('The contract of the token. The transaction is sent to it.'),
    data: z.string().describe('The call that receives the money. Only the recipient can make it.'),
    signature: z.string(),
    typedData: z.string().describe('The domain, types and message that were signed (EIP-712), as JSON.'),
    validUntil: UnixMs,
  })
  .meta({ id: 'PayoutAuthorization', description: 'A transfer that the treasury signed and the seller may send.' })
export type PayoutAuthorization = z.infer<typeof PayoutAuthorizationSchema>

/** The authorization of a signed payout that its seller submits to the chain. */
export function viewAuthorization(
  treasury: TreasuryParts,
  { signature, validUntil, mode, recipient, amount, nonce }: TreasuryTransfer,
): PayoutAuthorization | undefined {
  if (signature === null || validUntil === null || mode !== 'self_submit') return undefined
  const authorization = authorizationOf(treasury, { mode, recipient, amount, nonce, validUntil })
  const typed = typedDataOf(authorization)
  return {
    primaryType: 'ReceiveWithAuthorization',
    chainId: treasury.chainId,
    to: typed.domain.verifyingContract,
    data: calldataOf(authorization, `0x${signature.slice(2)}`),
    signature,
    typedData: JSON.stringify(typed, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)),
    validUntil: validUntil.getTime(),
  }
}

export const PayoutModeSchema = z.enum(TRANSFER_MODES)
export const TransferStateSchema = z.enum(TRANSFER_STATES)
