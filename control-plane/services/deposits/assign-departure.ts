import { z } from 'zod'
import { readMoneyEpoch } from '#control-plane/db/money-epoch.ts'
import type { TreasuryMove } from '#control-plane/db/treasury-moves.ts'
import { changeMove, lockMove } from '#control-plane/db/treasury-moves.ts'
import { lockTransferByNonce } from '#control-plane/db/treasury-transfers.ts'
import { findUserByWallet } from '#control-plane/db/users.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { isWholeAgain } from '#control-plane/services/gate/whole-again.ts'
import { TransactionHash, Wallet } from '#control-plane/services/input-fields.ts'
import { findParty, namesOneParty, ONE_PARTY, PartyFields } from '#control-plane/services/ledger/ledger-moves.ts'
import type { Departure } from '#control-plane/services/payouts/find-departure.ts'
import { bookDeparture, LostEarningsError } from '#control-plane/services/payouts/find-departure.ts'
import { MicroDigits } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'
import { purseOf, requireMoves } from './move-ctx.ts'

const AssignedSchema = z.object({
  transaction: z.string(),
  payout: z.string(),
  /** The account of the seller. */
  seller: z.string(),
  recipient: z.string(),
  amountMicro: MicroDigits,
})

const InputSchema = z
  .strictObject({
    wallet: PartyFields.wallet,
    account: PartyFields.account,
    transaction: TransactionHash,
    place: wholeNumber(0, 10_000).prefault(0),
    treasury: Wallet.optional(),
    reason: oneLine(400).trim().min(1),
  })
  .refine(namesOneParty, ONE_PARTY)

/**
 * Books a transfer that the treasury signed, and that matches nothing here, as a payout of a seller, once. The ledger
 * lost the account of the transfer, so its nonce matches nothing; the seller's present account pays for it. The
 * platform covers the part that the account lacks. `treasury` names a former treasury. Throws `not_found` for an unread
 * transfer and for an account that is no seller's, and `conflict` for a matched transfer, for one without an
 * authorization, and while lost earnings of the seller may still come back.
 */
export const assignDeparture = defineOperation({
  name: 'treasury.payout',
  summary: 'Book an unknown outgoing transfer as a seller’s payout',
  access: 'operator',
  input: InputSchema,
  limit: 'none',
  idempotency: 'none',
  output: AssignedSchema,
  run: async (ctx, _actor, { transaction, place, treasury, reason, ...party }) => {
    const own = requireMoves(ctx)
    const moves = { ...own, treasury: treasury ?? own.treasury }
    const seller = await findSeller(ctx, party)
    const purse = purseOf(moves)
    return ctx.change(
      async (trx) => {
        const move = requireNameless(await lockMove(trx, purse, { direction: 'out', transaction, place }))
        const known = await lockTransferByNonce(trx, move.nonce)
        if (known !== undefined && known.state !== 'returned') {
          throw new AppError('conflict', {
            message: 'The ledger already has a transfer with this nonce.',
            detail: { id: known.id },
          })
        }
        const record = await readMoneyEpoch(trx)
        const isWhole = record.heldAt === undefined || (await isWholeAgain(ctx, trx, record))
        const payout = await bookDeparture({ ...ctx, moves }, trx, move, { seller, isWhole }).catch(tellMissing)
        await changeMove(trx, purse, move, { kind: 'payout', ref: payout })
        return { transaction, payout, seller, recipient: move.party, amountMicro: move.amount.toString() }
      },
      (after) => ({ subject: transaction, before: null, after: { ...after, place, reason } }),
    )
  },
})

type Party = Parameters<typeof findParty>[1]

/** The seller's account. A wallet means the account of its user. Throws `not_found`. */
async function findSeller(ctx: Pick<RunCtx, 'db' | 'ledger'>, { wallet, account: accountName }: Party) {
  const account = accountName ?? (await findUserByWallet(ctx.db, wallet ?? ''))?.sellerAccount
  if (account === undefined) throw new AppError('not_found', { message: 'No account has this wallet.' })
  return (await findParty(ctx, { account }, ['seller_available'])).account
}

/** Returns an unmatched departure. Throws for any other move. */
function requireNameless(move: TreasuryMove | undefined): Departure {
  if (move === undefined) throw new AppError('not_found', { message: 'No final transfer has this id.' })
  const { kind, nonce } = move
  if (kind === 'new')
    throw new AppError('conflict', { message: 'The transfer is still being checked.', detail: { kind } })
  if (kind !== 'unknown') throw new AppError('conflict', { message: `The transfer is a ${kind}.`, detail: { kind } })
  if (nonce === null) {
    throw new AppError('conflict', { message: 'The transfer used no authorization, so it is no payout.' })
  }
  return { ...move, nonce }
}

function tellMissing(error: unknown): never {
  if (!(error instanceof LostEarningsError)) throw error
  throw new AppError('conflict', {
    message: 'The seller’s earnings may still be returning to the ledger. Try again later.',
    cause: error,
  })
}
