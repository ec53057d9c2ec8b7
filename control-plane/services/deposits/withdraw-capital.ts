import { z } from 'zod'
import { changeMove, lockMove } from '#control-plane/db/treasury-moves.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { TransactionHash } from '#control-plane/services/input-fields.ts'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import { MicroDigits } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'
import { purseOf, requireMoves } from './move-ctx.ts'
import { eraSuffix } from './take-moves.ts'

const WithdrawnSchema = z.object({ transaction: z.string(), amountMicro: MicroDigits })

/**
 * Books a transfer out of the treasury that this market did not send as a withdrawal of the operator's capital, once.
 * Throws `not_found` for a transfer that was not read, and `conflict` for one that is known or larger than the capital.
 */
export const withdrawCapital = defineOperation({
  name: 'treasury.withdraw',
  summary: 'Book an unknown outgoing transfer as a withdrawal of capital',
  access: 'operator',
  input: z.strictObject({
    transaction: TransactionHash,
    place: wholeNumber(0, 10_000).prefault(0),
    reason: oneLine(400).trim().min(1),
  }),
  limit: 'none',
  idempotency: 'none',
  output: WithdrawnSchema,
  run: async (ctx, _actor, { transaction, place, reason }): Promise<z.infer<typeof WithdrawnSchema>> => {
    const purse = purseOf(requireMoves(ctx))
    const name = { direction: 'out', transaction, place } as const
    return ctx.change(
      async (trx) => {
        const move = await lockMove(trx, purse, name)
        if (move === undefined) throw new AppError('not_found', { message: 'No final transfer has this id.' })
        if (move.kind !== 'unknown') {
          throw new AppError('conflict', { message: `The transfer is a ${move.kind}.`, detail: { kind: move.kind } })
        }
        const { amount } = move
        const booked = await postTransaction(moneyTransaction(trx), {
          id: ctx.ids.ulid(),
          key: `withdraw:${purse.chainId}:${transaction}:${place}${eraSuffix(move.era)}`,
          kind: 'withdraw',
          note: `${move.party}: ${reason}`.slice(0, 500),
          entries: [
            { account: PLATFORM_ACCOUNTS.capital, amount: -amount },
            { account: PLATFORM_ACCOUNTS.externalUsdc, amount },
          ],
        }).catch((error: unknown) => {
          if (!(error instanceof AppError && error.code === 'insufficient_balance')) throw error
          throw new AppError('conflict', { message: 'The amount is more than the capital in the books.', cause: error })
        })
        if (booked === undefined) throw new Error(`the transfer ${transaction} ${place} was booked and not marked`)
        await changeMove(trx, purse, name, { kind: 'capital', ref: null })
        return { transaction, amountMicro: amount.toString() }
      },
      (after) => ({ subject: transaction, before: null, after: { ...after, place, reason } }),
    )
  },
})
