import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { findPaymentByTransaction } from '#control-plane/db/payout-desk.ts'
import { changeMove, findCursor, lockMove, lockTransaction } from '#control-plane/db/treasury-moves.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import type { TokenMove } from '#control-plane/ports/treasury/treasury-chain.ts'
import type { TreasuryParts } from '#control-plane/ports/treasury/treasury-parts.ts'
import { TransactionHash } from '#control-plane/services/input-fields.ts'
import { postTransaction } from '#control-plane/services/ledger/ledger.ts'
import type { TreasuryCtx } from '#control-plane/services/payouts/treasury-ctx.ts'
import { withTreasury } from '#control-plane/services/payouts/treasury-ctx.ts'
import { requireKnownChain } from '#control-plane/services/treasury/known-chain.ts'
import { purseOfTreasury } from '#control-plane/services/treasury/purse-of-treasury.ts'
import { MicroDigits } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { oneLine } from '#shared/texts.ts'
import { fundKey } from './take-moves.ts'

const FundedSchema = z.object({
  transaction: z.string(),
  amountMicro: MicroDigits,
  /** True when the transfer was booked before. */
  isRepeat: z.boolean(),
})

/**
 * Books tokens that the operator sent to the treasury as its capital, once for each transfer of a transaction. The
 * chain shows the amount. Throws `not_found` for a transaction that is not deep in the chain or has no transfer to the
 * treasury, and `conflict` for one that pays for a call or was credited as a deposit.
 */
export const fundTreasury = defineOperation({
  name: 'treasury.fund',
  summary: 'Book tokens of the operator as capital of the treasury',
  access: 'operator',
  input: z.strictObject({
    transaction: TransactionHash,
    reason: oneLine(500).trim().min(1),
  }),
  limit: 'none',
  idempotency: 'none',
  output: FundedSchema,
  run: async (ctx, _actor, { transaction, reason }): Promise<z.infer<typeof FundedSchema>> => {
    const paying = withTreasury(ctx)
    if (paying === undefined)
      throw new AppError('conflict', { message: 'This market has no treasury key, so it cannot sign.' })
    const moves = await readArrivals(paying, transaction)
    const amount = moves.reduce((sum, move) => sum + move.amount, 0n)
    const book = async (trx: Trx) => {
      await lockTransaction(trx, transaction)
      if (await findPaymentByTransaction(trx, transaction)) {
        throw new AppError('conflict', { message: 'The transaction pays for a call.' })
      }
      const { era = 0 } = (await findCursor(trx, purseOfTreasury(paying.treasury))) ?? {}
      let isNew = false
      for (const [place, { index, amount: moved, from }] of moves.entries()) {
        await takeAsCapital(paying.treasury, trx, transaction, place)
        const booked = await postTransaction(moneyTransaction(trx), {
          id: ctx.ids.ulid(),
          key: fundKey(era, paying.treasury.chainId, transaction, index),
          kind: 'fund',
          note: `${from}: ${reason}`.slice(0, 500),
          entries: [
            { account: PLATFORM_ACCOUNTS.externalUsdc, amount: -moved },
            { account: PLATFORM_ACCOUNTS.capital, amount: moved },
          ],
        })
        isNew ||= booked !== undefined
      }
      return isNew
    }
    const isNew = await ctx.change(book, (made) =>
      made ? { subject: transaction, before: null, after: { amountMicro: amount.toString(), reason } } : undefined,
    )
    return { transaction, amountMicro: amount.toString(), isRepeat: !isNew }
  },
})

/** Marks a transfer as capital if it was read already. A transfer that is read later is found in the books. */
async function takeAsCapital(treasury: TreasuryParts, trx: Trx, transaction: string, place: number): Promise<void> {
  const purse = { chainId: treasury.chainId, asset: treasury.asset, treasury: treasury.address }
  const name = { direction: 'in', transaction, place } as const
  const move = await lockMove(trx, purse, name)
  if (move === undefined || move.kind === 'capital') return
  if (move.kind !== 'new' && move.kind !== 'unknown') {
    throw new AppError('conflict', { message: `The transfer is a ${move.kind}.`, detail: { kind: move.kind } })
  }
  await changeMove(trx, purse, name, { kind: 'capital', ref: null })
}

/** The transfers of a transaction to the treasury. */
async function readArrivals(
  { db, treasury }: Pick<TreasuryCtx, 'db' | 'treasury'>,
  transaction: string,
): Promise<readonly TokenMove[]> {
  const { chain, chainId, asset, address, confirmations } = treasury
  const checking = requireKnownChain(db, chain, purseOfTreasury(treasury)).then(() => chain.checkChain(chainId))
  const readings = await Promise.all([checking, chain.head(), chain.movesOf(asset, transaction)]).catch(
    (cause: unknown) => {
      throw new AppError('service_unavailable', { message: 'The chain is out of reach.', cause, retryAfterSeconds: 5 })
    },
  )
  const [, head, receipt] = readings
  const isDeep = receipt !== undefined && head.block - receipt.block + 1n >= BigInt(confirmations)
  const moves = receipt?.moves.filter(({ from, to, amount }) => to === address && from !== address && amount > 0n) ?? []
  if (isDeep && moves.length > 0) return moves
  throw new AppError('not_found', { message: 'No final transfer to the treasury has this transaction.' })
}
