import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { setPayoutHold } from '#control-plane/db/payout-holds.ts'
import type { Purse, TreasuryCursor } from '#control-plane/db/treasury-moves.ts'
import { changeCursor, findCursor, lockCursor } from '#control-plane/db/treasury-moves.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { Block, TreasuryChain } from '#control-plane/ports/treasury/treasury-chain.ts'

/**
 * The distance from the remembered block to the newest one that was read: half an hour of Base. No reorganisation is so
 * deep,
 * and no endpoint so late, so a chain without this block is a different one.
 */
export const ANCHOR_DEPTH = 1_000n

/** The reason of a stop of payouts while the chain is another one. */
export const REPLACED_HOLD = 'chain:replaced'

type KnowCtx = Pick<Ctx, 'db' | 'ids' | 'log'>
type Reading = Pick<TreasuryChain, 'checkChain' | 'head' | 'blockAt'>

/**
 * Returns the newest block of the chain that was read. Throws for another chain: for another id, and for a chain that
 * was started anew under these books. Money on such a chain has nothing to do with the books, so nothing is read from
 * it, nothing is sent to it, and payouts stop until a person has looked.
 */
export async function headOfKnownChain(ctx: KnowCtx, chain: Reading, purse: Purse): Promise<Block> {
  await chain.checkChain(purse.chainId)
  const head = await chain.head()
  const cursor = await findCursor(ctx.db, purse)
  if (cursor === undefined || cursor.anchorBlock === null) return head
  const isKnown = await isKnownBlock(chain, cursor, head)
  if (isKnown !== (cursor.strangeSince === null)) await noteChain(ctx, purse, isKnown)
  if (isKnown) return head
  throw anotherChain(cursor.anchorBlock)
}

/** True for a chain with the remembered block, and without a remembered block. */
export async function isKnownBlock(
  chain: Pick<Reading, 'blockAt'>,
  { anchorBlock, anchorHash }: Pick<TreasuryCursor, 'anchorBlock' | 'anchorHash'>,
  head: Pick<Block, 'block'>,
): Promise<boolean> {
  if (anchorBlock === null) return true
  return head.block >= anchorBlock && isAt(chain, anchorBlock, anchorHash)
}

/**
 * Throws unless the chain has the remembered block of the treasury's chain. It records nothing: the reader of the
 * treasury's transfers does that. Throws, too, while the chain does not answer or lacks the block.
 */
export async function requireKnownChain(db: Database, chain: Pick<Reading, 'blockAt'>, purse: Purse): Promise<void> {
  const cursor = await findCursor(db, purse)
  if (cursor === undefined || cursor.anchorBlock === null) return
  if (await isAt(chain, cursor.anchorBlock, cursor.anchorHash)) return
  throw anotherChain(cursor.anchorBlock)
}

function anotherChain(block: bigint): Error {
  return new Error(`the chain is not the one that was read: it has another block ${block}`)
}

async function isAt(chain: Pick<Reading, 'blockAt'>, block: bigint, hash: string | null): Promise<boolean> {
  return (await chain.blockAt(block)).hash === hash
}

/** Records that the chain is another one, with the resulting stop of payouts, or that it is the known one again. */
async function noteChain(ctx: KnowCtx, purse: Purse, isKnown: boolean): Promise<void> {
  const { chainId, treasury } = purse
  if (isKnown) ctx.log.warn({ chainId, treasury }, 'the chain is the known one again: deposits go on')
  else ctx.log.error({ chainId, treasury }, 'the chain is not the one that was read: deposits and payouts stop')
  await transact(ctx.db, async (trx) => {
    const cursor = await lockCursor(trx, purse)
    if (cursor === undefined || (cursor.strangeSince === null) === isKnown) return
    await changeCursor(trx, purse, { isStrange: !isKnown })
    if (!isKnown) await setPayoutHold(trx, ctx.ids.ulid(), REPLACED_HOLD)
  })
}

/**
 * Goes back to the remembered block when the last proven block was replaced: the reorganisation was deeper than the
 * confirmations, and the new blocks were never read. Known transfers are not taken twice. Returns the cursor to
 * continue from.
 */
export async function goBackIfReplaced(
  ctx: Pick<KnowCtx, 'db' | 'log'> & { readonly chain: Reading },
  purse: Purse,
  knownCursor: TreasuryCursor,
  head: Block,
): Promise<TreasuryCursor> {
  const { provenBlock, provenHash, anchorBlock, anchorHash } = knownCursor
  if (provenHash === null || anchorBlock === null || head.block < provenBlock) return knownCursor
  if (await isAt(ctx.chain, provenBlock, provenHash)) return knownCursor
  ctx.log.warn({ block: Number(provenBlock) }, 'a proven block was replaced: its blocks are read again')
  return transact(ctx.db, async (trx) => {
    const cursor = await lockCursor(trx, purse)
    if (cursor === undefined || cursor.provenHash !== provenHash) return cursor ?? knownCursor
    const nextBlock = cursor.firstBlock > anchorBlock ? cursor.firstBlock : anchorBlock + 1n
    // The first block that is read may be younger than the remembered one.
    const change = {
      nextBlock,
      provenBlock: nextBlock - 1n,
      provenHash: nextBlock - 1n === anchorBlock ? anchorHash : null,
    }
    await changeCursor(trx, purse, change)
    return { ...cursor, ...change }
  })
}

/** The next block to remember; undefined while the remembered one is near enough. */
export async function nextAnchor(
  chain: Pick<Reading, 'blockAt'>,
  { anchorBlock }: Pick<TreasuryCursor, 'anchorBlock'>,
  block: bigint,
): Promise<Block | undefined> {
  if (anchorBlock !== null && block - anchorBlock < 2n * ANCHOR_DEPTH) return undefined
  return chain.blockAt(block > ANCHOR_DEPTH ? block - ANCHOR_DEPTH : 0n)
}

/** True while the chain is not the one that was read. */
export async function isChainStrange(db: Database, purse: Purse): Promise<boolean> {
  return (await findCursor(db, purse))?.strangeSince != null
}
