import { z } from 'zod'
import type { Deposit } from '#control-plane/db/deposits.ts'
import { DEPOSIT_METHODS, DEPOSIT_STATES } from '#control-plane/db/tables/deposits.ts'
import type { Authorization } from '#control-plane/ports/treasury/authorization.ts'
import { typedDataOf } from '#control-plane/ports/treasury/authorization.ts'
import type { MoveParts } from '#control-plane/ports/treasury/move-parts.ts'
import { MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { SECOND } from '#shared/clock.ts'

type Signable = Pick<Deposit, 'sender' | 'amount'> & {
  readonly nonce: `0x${string}`
  readonly validUntil: Date
}

/** The authorization that a sender signs for a deposit. Its nonce identifies the deposit, and so the account. */
export function authorizationOf(
  { chainId, asset, assetName, assetVersion, treasury }: MoveParts,
  { sender, amount, nonce, validUntil }: Signable,
): Authorization {
  return {
    kind: 'transfer',
    chainId,
    asset,
    assetName,
    assetVersion,
    nonce,
    amount,
    payer: sender,
    recipient: treasury,
    validBefore: BigInt(validUntil.getTime() / SECOND),
  }
}

/**
 * A deposit in its account's view. `opened`: the signature is due. `signed`: the transaction is under way. `credited`:
 * the amount is in the balance. `refused`: the token refused it. `expired`: the signature was not used in time.
 */
export const DepositViewSchema = z
  .object({
    id: z.string(),
    method: z.enum(DEPOSIT_METHODS).describe('A transfer that a wallet sent, or an authorization that it signed.'),
    status: z.enum(DEPOSIT_STATES),
    reason: z.string().nullable().describe('The reason why the deposit was refused or expired, as a code.'),
    sender: z.string(),
    amountUsdc: MicroDigits,
    txHash: z.string().nullable(),
    block: z.number().int().nullable(),
    createdAt: UnixMs,
    validUntil: UnixMs.nullable(),
    creditedAt: UnixMs.nullable(),
  })
  .meta({ id: 'Deposit', description: 'A transfer of USDC that becomes credit, and its state.' })
export type DepositView = z.infer<typeof DepositViewSchema>

export function viewDeposit(deposit: Deposit): DepositView {
  const { id, method, state, reason, sender, amount, transaction, block, openedAt, validUntil, creditedAt } = deposit
  return {
    id,
    method,
    status: state,
    reason,
    sender,
    amountUsdc: amount.toString(),
    txHash: transaction,
    block: block === null ? null : Number(block),
    createdAt: openedAt.getTime(),
    validUntil: validUntil?.getTime() ?? null,
    creditedAt: creditedAt?.getTime() ?? null,
  }
}

/**
 * The message that a deposit's sender signs, as JSON of EIP-712. Undefined unless the deposit waits for a signature.
 */
export function typedDataFor(moves: MoveParts, deposit: Deposit): string | undefined {
  const { nonce, validUntil, state } = deposit
  if (state !== 'opened' || nonce === null || validUntil === null) return undefined
  const typed = typedDataOf(authorizationOf(moves, { ...deposit, nonce, validUntil }))
  return JSON.stringify(typed, (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}
