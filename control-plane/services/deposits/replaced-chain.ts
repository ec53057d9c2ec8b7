import { z } from 'zod'
import { findSignedUntil, listUnderWay, UNDER_WAY } from '#control-plane/db/chain-eras.ts'
import { sumAccount } from '#control-plane/db/ledger.ts'
import { findCursor } from '#control-plane/db/treasury-moves.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { Block } from '#control-plane/ports/treasury/treasury-chain.ts'
import { isKnownBlock, nextAnchor } from '#control-plane/services/treasury/known-chain.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { higherBigint } from '#shared/bigints.ts'
import { AppError } from '#shared/errors.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { MoveCtx } from './move-ctx.ts'
import { finalBlock, purseOf, requireMoves } from './move-ctx.ts'

type ReadCtx = Pick<MoveCtx, 'db' | 'moves'>

/** A chain as its endpoint presents it now. */
export type ChainFindings = {
  readonly head: Block
  /** The first block of the chain. An operator names the chain by its hash. */
  readonly genesis: Block
  /** The newest final block, and the block to remember. */
  readonly final: Block
  readonly anchor: Block
  readonly balance: bigint
  /** True when the remembered block differs on this chain or is missing. */
  readonly isReplaced: boolean
}

/**
 * Reads the identity of the endpoint's chain. Throws `service_unavailable` while the endpoint does not answer, or for
 * another chain id.
 */
export async function findChain({ db, moves }: ReadCtx): Promise<ChainFindings> {
  const { chain, chainId, asset, treasury } = moves
  const cursor = await findCursor(db, purseOf(moves))
  try {
    await chain.checkChain(chainId)
    const [head, genesis] = await Promise.all([chain.head(), chain.blockAt(0n)])
    const final = await chain.blockAt(higherBigint(finalBlock(moves, head.block), 0n))
    const anchor = (await nextAnchor(chain, { anchorBlock: null }, final.block)) ?? genesis
    const balance = await chain.balanceOf(asset, treasury)
    const isReplaced = cursor !== undefined && !(await isKnownBlock(chain, cursor, head))
    return { head, genesis, final, anchor, balance, isReplaced }
  } catch (cause) {
    throw new AppError('service_unavailable', { message: 'The chain is out of reach.', cause, retryAfterSeconds: 5 })
  }
}

export const TreasuryChainSchema = z.object({
  /** True when the endpoint's chain differs from the chain that was read. */
  isReplaced: z.boolean(),
  /** The time since which the worker knows of the replacement; null while it does not. */
  replacedSince: UnixMs.nullable(),
  /** The number of chains that were accepted after the first. */
  era: Count,
  /** The remembered block of the chain that was read; null before the first. */
  rememberedBlock: Count.nullable(),
  rememberedHash: z.string().nullable(),
  /** The hash of the first block of the endpoint's chain, which identifies the chain, and its newest block. */
  genesis: z.string(),
  headBlock: Count,
  headAt: UnixMs,
  /** The treasury's balance on the endpoint's chain, and the tokens that the books count on. */
  balanceMicro: MicroDigits,
  booksMicro: MicroDigits,
  /** The end of the time in which signatures for the old chain can move money; null when none can. */
  signedUntil: UnixMs.nullable(),
  /** Work that an acceptance would end: payouts go back to their sellers, and debts of wallets stay. */
  underWay: z.array(z.object({ what: z.enum(UNDER_WAY), count: Count, amountMicro: MicroDigits })).readonly(),
})
export type TreasuryChainView = z.infer<typeof TreasuryChainSchema>

/**
 * Reads which chain the treasury's endpoint serves, and the work under way on the chain that was read: the preview of
 * an acceptance. Throws `conflict` where no chain is read, and `service_unavailable` while the endpoint does not
 * answer.
 */
export const readTreasuryChain = defineOperation({
  name: 'treasury.chain',
  summary: 'Get the chain behind the treasury’s endpoint',
  about: 'Shows the unfinished work on the former chain: a preview before you accept another chain.',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: TreasuryChainSchema,
  run: async (ctx): Promise<TreasuryChainView> => {
    const reading = { ...ctx, moves: requireMoves(ctx) }
    const purse = purseOf(reading.moves)
    const chain = await findChain(reading)
    const [cursor, underWay, booked, signedUntil] = await Promise.all([
      findCursor(ctx.db, purse),
      listUnderWay(ctx.db, purse),
      sumAccount(ctx.db, PLATFORM_ACCOUNTS.externalUsdc),
      findSignedUntil(ctx.db, purse, new Date(chain.head.at)),
    ])
    return {
      isReplaced: chain.isReplaced,
      replacedSince: cursor?.strangeSince?.getTime() ?? null,
      era: cursor?.era ?? 0,
      rememberedBlock: cursor?.anchorBlock == null ? null : Number(cursor.anchorBlock),
      rememberedHash: cursor?.anchorHash ?? null,
      genesis: chain.genesis.hash,
      headBlock: Number(chain.head.block),
      headAt: chain.head.at,
      balanceMicro: chain.balance.toString(),
      booksMicro: (-booked).toString(),
      signedUntil: signedUntil?.getTime() ?? null,
      underWay: underWay
        .filter(({ count }) => count > 0)
        .map(({ what, count, amount }) => ({ what, count, amountMicro: amount.toString() })),
    }
  },
})
