import { z } from 'zod'
import {
  beginEra,
  findSignedUntil,
  listSignedTransfers,
  listUnderWay,
  orphanUnderWay,
} from '#control-plane/db/chain-eras.ts'
import { buryChainTransactions } from '#control-plane/db/chain-transactions.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { setPayoutHold } from '#control-plane/db/payout-holds.ts'
import { lockCursor } from '#control-plane/db/treasury-moves.ts'
import type { TreasuryTransfer } from '#control-plane/db/treasury-transfers.ts'
import { lockTransfer } from '#control-plane/db/treasury-transfers.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { takeStep } from '#control-plane/services/payouts/end-transfer.ts'
import { REASONS } from '#control-plane/services/payouts/transfer-states.ts'
import { REPLACED_HOLD } from '#control-plane/services/treasury/known-chain.ts'
import { Count, MicroDigits } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'
import type { MoveCtx } from './move-ctx.ts'
import { purseOf, requireMoves } from './move-ctx.ts'
import type { ChainFindings } from './replaced-chain.ts'
import { findChain } from './replaced-chain.ts'

/** Most signed transfers that end together with the acceptance. The worker ends the rest as expired. */
const MAX_TRANSFERS = 5_000
/** The highest block number. */
const MAX_BLOCK = 2 ** 40

const AcceptedSchema = z.object({
  /** The era of the chain among the chains with this id. */
  era: Count,
  /** The first block that is read, and the treasury's balance before it. */
  firstBlock: Count,
  openingMicro: MicroDigits,
  /** The number of payouts that went back to their sellers, and of payouts that are on the accepted chain. */
  returned: Count,
  followed: Count,
  /** Transactions that were in no block. They are never sent again. */
  buried: Count,
})
export type AcceptedChain = z.infer<typeof AcceptedSchema>

type Opening = { readonly firstBlock: bigint; readonly opening: bigint }

/**
 * Accepts the chain of the treasury's endpoint in place of the chain that was read. Work under way ends: a payout that
 * is not on the accepted chain goes back to its seller, a draw fails and its debt stays, authorizations that buyers
 * signed are refused, and no old transaction is sent. Booked transfers stay booked. Payouts and draws wait until an
 * operator clears the hold. `genesis` is the hash that `treasury.chain` returned. Throws `conflict` for the chain that
 * was read, for a chain other than the named one, and while a signature for the old chain is valid on the new one.
 */
export const acceptChain = defineOperation({
  name: 'treasury.accept-chain',
  summary: 'Accept another chain behind the treasury’s endpoint',
  about: 'Unfinished work on the former chain ends.',
  access: 'operator',
  input: z.strictObject({
    genesis: z.string().regex(/^0x[0-9a-f]{64}$/, 'The hash of a block must be 32 bytes in hex.'),
    reason: oneLine(400).trim().min(1),
    /** By default the next block. An older block needs an endpoint that still has its balances. */
    fromBlock: wholeNumber(0, MAX_BLOCK).optional(),
  }),
  limit: 'none',
  idempotency: 'none',
  output: AcceptedSchema,
  run: async (ctx, _actor, { genesis, reason, fromBlock }): Promise<AcceptedChain> => {
    const reading = { ...ctx, moves: requireMoves(ctx) }
    const purse = purseOf(reading.moves)
    const chain = await findChain(reading)
    refuseUnlessReplaced(chain, genesis)
    const opening = await readOpening(reading, chain, fromBlock)
    const signedTransfers = await listSignedTransfers(ctx.db, purse, MAX_TRANSFERS)
    const spent = await readSpent(reading, signedTransfers, chain)
    const before = await listUnderWay(ctx.db, purse)
    return ctx.change(
      async (trx) => {
        const cursor = await lockCursor(trx, purse)
        if (cursor === undefined || cursor.strangeSince === null) {
          throw new AppError('conflict', { message: 'The worker has not detected a replaced chain yet.' })
        }
        const until = await findSignedUntil(trx, purse, new Date(chain.head.at))
        if (until !== undefined) {
          const message = 'Signatures for the former chain are still valid on this one.'
          throw new AppError('conflict', { message, detail: { signedUntil: until.getTime() } })
        }
        await orphanUnderWay(trx, purse, REASONS.chainReplaced)
        const returned = await returnTransfers(ctx, trx, signedTransfers, spent)
        const buried = await buryChainTransactions(trx)
        await beginEra(trx, purse, { ...opening, anchor: chain.anchor })
        // The books count on tokens that are gone: a person clears the hold once the treasury has the money that it
        // owes.
        await setPayoutHold(trx, ctx.ids.ulid(), REPLACED_HOLD)
        return {
          era: cursor.era + 1,
          firstBlock: Number(opening.firstBlock),
          openingMicro: opening.opening.toString(),
          returned,
          followed: signedTransfers.length - returned,
          buried,
        }
      },
      (after) => ({
        subject: purse.treasury,
        before: { underWay: before.map(({ amount, ...row }) => ({ ...row, amountMicro: amount.toString() })) },
        after: { ...after, genesis, reason },
      }),
    )
  },
})

function refuseUnlessReplaced({ isReplaced, genesis }: ChainFindings, genesisInRequest: string): void {
  if (!isReplaced) throw new AppError('conflict', { message: 'The market reads this chain already.' })
  if (genesis.hash === genesisInRequest) return
  throw new AppError('conflict', { message: 'CHAIN_RPC_URL answers for another chain than the one you named.' })
}

/** The block in which reading begins, and the treasury's balance before it. */
async function readOpening(
  { moves }: Pick<MoveCtx, 'moves'>,
  { final }: ChainFindings,
  fromBlock: number | undefined,
): Promise<Opening> {
  const { chain, asset, treasury } = moves
  const firstBlock = fromBlock === undefined ? final.block + 1n : BigInt(fromBlock)
  if (firstBlock > final.block + 1n) {
    throw new AppError('invalid_request', { message: `The newest final block is ${final.block}.` })
  }
  const opening =
    firstBlock === 0n
      ? 0n
      : await chain.balanceOf(asset, treasury, firstBlock - 1n).catch((cause: unknown) => {
          const message = 'The endpoint does not know the balance before this block.'
          throw new AppError('service_unavailable', { message, cause, retryAfterSeconds: 5 })
        })
  return { firstBlock, opening }
}

/** Nonces of transfers that are used on this chain, too. */
async function readSpent(
  { moves }: Pick<MoveCtx, 'moves'>,
  transfers: readonly TreasuryTransfer[],
  { head }: ChainFindings,
): Promise<ReadonlySet<string>> {
  if (transfers.length === 0) return new Set()
  const { chain, asset, treasury } = moves
  return chain
    .listSpent({ asset, treasury, nonces: transfers.map(({ nonce }) => nonce) }, head.block)
    .catch((cause: unknown) => {
      throw new AppError('service_unavailable', { message: 'The chain is out of reach.', cause, retryAfterSeconds: 5 })
    })
}

/** Refunds transfers that are not on this chain. The others are followed as usual. */
async function returnTransfers(
  ctx: Pick<RunCtx, 'db' | 'ids' | 'clock' | 'wake' | 'log'>,
  trx: Trx,
  transfers: readonly TreasuryTransfer[],
  spent: ReadonlySet<string>,
): Promise<number> {
  let returned = 0
  for (const { id, nonce } of transfers) {
    const transfer = await lockTransfer(trx, id)
    if (transfer === undefined) continue
    const unknownPlace = { transaction: null, block: null }
    if (spent.has(nonce)) await takeStep(ctx, trx, transfer, { event: 'unmine', changes: unknownPlace })
    else if (
      await takeStep(ctx, trx, transfer, {
        event: 'orphan',
        changes: { ...unknownPlace, batch: null, reason: REASONS.chainReplaced },
      })
    )
      returned += 1
  }
  return returned
}
