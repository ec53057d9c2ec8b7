import { z } from 'zod'
import { MOVE_KINDS } from '#control-plane/db/tables/deposits.ts'
import type { TreasuryMove } from '#control-plane/db/treasury-moves.ts'
import { listMoves, listStrayTokens, lockMove } from '#control-plane/db/treasury-moves.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { TransactionHash } from '#control-plane/services/input-fields.ts'
import { findParty, namesOneParty, ONE_PARTY, PartyFields } from '#control-plane/services/ledger/ledger-moves.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'
import { purseOf, requireMoves, withMoves } from './move-ctx.ts'
import { creditMove, findClaim, tellGate } from './take-moves.ts'

const SHOWN_ROWS = 100

export const MoveKindSchema = z.enum(MOVE_KINDS)
export const MoveViewSchema = z.object({
  direction: z.enum(['in', 'out']),
  transaction: z.string(),
  /** The index of the transfer among the transaction's transfers in this direction, from 0. */
  place: Count,
  block: Count,
  /** The address on the other side. */
  party: z.string(),
  amountMicro: MicroDigits,
  kind: MoveKindSchema,
  /** The deposit, the payment's request id or the payout that it belongs to. */
  ref: z.string().nullable(),
  /** The reason why the move is unknown, as a code. */
  reason: z.string().nullable(),
  seenAt: UnixMs,
})
export type MoveView = z.infer<typeof MoveViewSchema>

function viewOf({
  direction,
  transaction,
  place,
  block,
  party,
  amount,
  kind,
  ref,
  reason,
  seenAt,
}: TreasuryMove): MoveView {
  return {
    direction,
    transaction,
    place,
    block: Number(block),
    party,
    amountMicro: amount.toString(),
    kind,
    ref,
    reason,
    seenAt: seenAt.getTime(),
  }
}

/** Lists transfers to and from the treasury, newest first. Empty where no chain is read. */
export const listTreasuryMoves = defineOperation({
  name: 'treasury.moves',
  summary: 'List transfers of the treasury, newest first',
  access: 'operator',
  input: z.strictObject({
    kind: MoveKindSchema.optional(),
    direction: z.enum(['in', 'out']).optional(),
    limit: wholeNumber(1, 500).prefault(SHOWN_ROWS),
  }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(MoveViewSchema).readonly(),
  run: async (ctx, _actor, { kind, direction, limit }): Promise<readonly MoveView[]> => {
    const reading = withMoves(ctx)
    if (reading === undefined) return []
    return (await listMoves(ctx.db, purseOf(reading.moves), { kind, direction }, limit)).map(viewOf)
  },
})

export const StrayTokenSchema = z.object({
  token: z.string(),
  transfers: Count,
  /** In the token's own units. */
  amount: z.string(),
  lastSender: z.string(),
  lastTransaction: z.string(),
  firstSeenAt: UnixMs,
})
export type StrayTokenView = z.infer<typeof StrayTokenSchema>

/** Lists tokens of other contracts that were sent to the treasury. No account is credited for them. */
export const listStrays = defineOperation({
  name: 'treasury.strays',
  summary: 'List foreign tokens in the treasury',
  about: 'No account is credited for them.',
  access: 'operator',
  input: z.strictObject({ limit: wholeNumber(1, 500).prefault(SHOWN_ROWS) }),
  limit: 'read',
  idempotency: 'none',
  output: z.array(StrayTokenSchema).readonly(),
  run: async (ctx, _actor, { limit }): Promise<readonly StrayTokenView[]> => {
    const reading = withMoves(ctx)
    if (reading === undefined) return []
    const found = await listStrayTokens(ctx.db, purseOf(reading.moves), limit)
    return found.map(({ transfers, firstSeenAt, ...rest }) => ({
      ...rest,
      transfers: Number(transfers),
      firstSeenAt: firstSeenAt.getTime(),
    }))
  },
})

/**
 * Credits a transfer of an unknown sender to an account, once. Throws `not_found`, and `conflict` for a move that is
 * known.
 */
export const assignMove = defineOperation({
  name: 'deposit.assign',
  summary: 'Credit a deposit of an unknown sender to an account',
  access: 'operator',
  input: z
    .strictObject({
      wallet: PartyFields.wallet,
      account: PartyFields.account,
      transaction: TransactionHash,
      place: wholeNumber(0, 10_000).prefault(0),
      reason: oneLine(500).trim().min(1),
    })
    .refine(namesOneParty, ONE_PARTY),
  limit: 'none',
  idempotency: 'none',
  output: MoveViewSchema,
  run: async (ctx, _actor, { transaction, place, reason, ...party }): Promise<MoveView> => {
    const moves = requireMoves(ctx)
    const { account } = await findParty(ctx, party, ['buyer_credit'])
    const name = { direction: 'in', transaction, place } as const
    const done = await ctx.change(
      async (trx) => {
        const move = await lockMove(trx, purseOf(moves), name)
        if (move === undefined) throw new AppError('not_found', { message: 'No final transfer has this id.' })
        if (move.kind !== 'unknown') {
          throw new AppError('conflict', { message: `The transfer is a ${move.kind}.`, detail: { kind: move.kind } })
        }
        const claim = await findClaim(moves, trx, move)
        if (claim !== undefined) {
          throw new AppError('conflict', { message: 'The transfer pays for a call.', detail: { rid: claim.rid } })
        }
        const balances = await creditMove({ ...ctx, moves }, trx, move, { account, deposit: undefined })
        const after = await lockMove(trx, purseOf(moves), name)
        return { balances, after: viewOf(after ?? move) }
      },
      ({ after }) => ({ subject: transaction, before: null, after: { ...after, account, reason } }),
    )
    await tellGate(ctx, done.balances, transaction)
    return done.after
  },
})
