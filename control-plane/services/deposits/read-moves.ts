import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { NewMove, Purse, Stray, TreasuryCursor } from '#control-plane/db/treasury-moves.ts'
import {
  changeCursor,
  countStrays,
  findCursor,
  insertCursor,
  lockCursor,
  upsertMoves,
} from '#control-plane/db/treasury-moves.ts'
import type { ChainMove, ChainMoves } from '#control-plane/ports/treasury/treasury-chain.ts'
import { JOURNAL_MS } from '#control-plane/services/gate/ledger-restores.ts'
import { holdPayouts, liftPayouts } from '#control-plane/services/payouts/payout-stops.ts'
import { goBackIfReplaced, headOfKnownChain, nextAnchor } from '#control-plane/services/treasury/known-chain.ts'
import { lowerBigint } from '#shared/bigints.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { crashPoint } from '#shared/crash-point.ts'
import type { MoveCtx } from './move-ctx.ts'
import { finalBlock, purseOf } from './move-ctx.ts'
import { tellOfStrays } from './tell-of-deposit.ts'

/** Most blocks of one request. Endpoints refuse longer ranges. */
const BLOCKS_A_READ = 2_000n
/** Most requests of one turn. An endpoint may refuse some because the answer is too long. */
const READS_A_TURN = 40
/** Most tokens of other contracts that are recorded. Anybody can make one. */
const MAX_STRAY_TOKENS = 10_000
/**
 * The first pause before blocks whose transfers do not explain the balance are read again. The pause doubles, without
 * end.
 */
const REREAD_FIRST_MS = SECOND
const REREAD_MOST_MS = 10 * MINUTE
/**
 * The time in which an endpoint may be late with transfers that explain the balance. After it all payouts stop: the
 * difference may be money that has left.
 */
const LATE_MS = 2 * MINUTE
/** The name of the hold on payouts while the balance differs from the transfers. */
export const BALANCE_HOLD = 'chain:balance'

/**
 * Reads the treasury's transfers in the blocks that are final, and proves them: their sum is the balance on the chain.
 * Blocks without proof are read again, so an endpoint that omits a transfer loses none. Returns the number of
 * transfers.
 */
export async function readMoves(ctx: MoveCtx): Promise<number> {
  const { chain, memory } = ctx.moves
  const purse = purseOf(ctx.moves)
  const sight = await look(ctx)
  // The same hash means that no block below it has changed either.
  if (sight === memory.seen) return 0
  const head = await headOfKnownChain(ctx, chain, purse)
  const final = finalBlock(ctx.moves, head.block)
  if (final < 0n) return 0
  let cursor = await goBackIfReplaced({ ...ctx, chain }, purse, await openCursor(ctx, final), head)
  if (cursor.nextBlock > final && cursor.provenBlock === cursor.nextBlock - 1n) {
    memory.seen = sight
    return 0
  }
  // The hash is read before the blocks, so the next turn notices a reorganisation in between.
  const last = cursor.nextBlock > final ? cursor.nextBlock - 1n : final
  const { hash } = await chain.blockAt(last)
  let span = BLOCKS_A_READ
  let count = 0
  for (let read = 0; read < READS_A_TURN && cursor.nextBlock <= final; read++) {
    const fromBlock = cursor.nextBlock
    const toBlock = lowerBigint(fromBlock + span - 1n, final)
    const chainMoves = await tryRead(ctx, { fromBlock, toBlock })
    if (chainMoves === undefined) {
      span = (toBlock - fromBlock + 2n) / 2n
      continue
    }
    const next = await store(ctx, cursor, toBlock, chainMoves)
    // A second process has read these blocks.
    if (next === undefined) return count
    count += chainMoves.moves.length
    cursor = next
  }
  if (cursor.nextBlock > final) await prove(ctx, cursor, hash)
  return count
}

/** The state of the chain and of the books. While neither changes, another reading finds nothing. */
async function look({ db, moves }: MoveCtx): Promise<string> {
  const { hash } = await moves.chain.head()
  const cursor = await findCursor(db, purseOf(moves))
  return JSON.stringify([hash, cursor], (_, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

/** Begins to read a treasury, unless its reading has begun. Returns the first block that is read. */
export async function beginReading(ctx: MoveCtx): Promise<bigint> {
  const { block } = await ctx.moves.chain.head()
  return (await openCursor(ctx, finalBlock(ctx.moves, block))).firstBlock
}

async function openCursor(ctx: MoveCtx, final: bigint): Promise<TreasuryCursor> {
  const purse = purseOf(ctx.moves)
  const known = await findCursor(ctx.db, purse)
  if (known !== undefined) return known
  const { chain, firstBlock: configuredBlock } = ctx.moves
  const firstLost = configuredBlock === null ? await firstLostBlock(ctx, final) : undefined
  const firstBlock = configuredBlock ?? firstLost ?? final + 1n
  // Endpoints may not keep balances that old.
  const opening = firstLost === undefined ? await openingOf(chain, purse, firstBlock) : undefined
  await insertCursor(ctx.db, purse, { firstBlock, opening })
  const cursor = await findCursor(ctx.db, purse)
  if (cursor === undefined) throw new Error('a cursor is gone')
  return cursor
}

async function openingOf(chain: MoveCtx['moves']['chain'], { asset, treasury }: Purse, first: bigint): Promise<bigint> {
  return first === 0n ? 0n : chain.balanceOf(asset, treasury, first - 1n)
}

/**
 * The first block with transfers that a restored ledger may lack: the ledger has lost the position of the reading, too.
 * Undefined without a hold.
 */
async function firstLostBlock({ ledger, moves }: MoveCtx, final: bigint): Promise<bigint | undefined> {
  const { heldAt, restore } = await ledger.readEpoch()
  if (heldAt === undefined) return undefined
  const since = restore?.to ?? heldAt - JOURNAL_MS
  let [first, after] = [0n, final + 1n]
  while (first < after) {
    const middle = (first + after) / 2n
    if ((await moves.chain.blockAt(middle)).at < since) first = middle + 1n
    else after = middle
  }
  return first
}

type Span = { readonly fromBlock: bigint; readonly toBlock: bigint }

/**
 * Undefined when the endpoint refuses the range, but may answer a shorter one. Throws when it refuses a single block.
 */
async function tryRead({ moves, log }: MoveCtx, span: Span): Promise<ChainMoves | undefined> {
  const { chain, asset, treasury } = moves
  try {
    return await chain.listMoves({ asset, treasury, ...span })
  } catch (error) {
    if (span.fromBlock === span.toBlock) throw error
    log.debug(
      { err: error, blocks: Number(span.toBlock - span.fromBlock) },
      'the endpoint refused the blocks: fewer are requested',
    )
    return undefined
  }
}

/** Stores the transfers and moves the cursor on, in one transaction. Undefined when another process did so first. */
async function store(
  ctx: MoveCtx,
  { nextBlock }: TreasuryCursor,
  toBlock: bigint,
  { moves, strays }: ChainMoves,
): Promise<TreasuryCursor | undefined> {
  const purse = purseOf(ctx.moves)
  const outcome = await transact(ctx.db, async (trx) => {
    const cursor = await lockCursor(trx, purse)
    if (cursor === undefined || cursor.nextBlock !== nextBlock) return undefined
    const broughtMoves = await upsertMoves(trx, purse, moves.map(rowOf))
    await countStrays(trx, purse, byToken(strays), MAX_STRAY_TOKENS)
    await tellOfStrays(ctx, trx, strays)
    const change = { nextBlock: toBlock + 1n, balance: cursor.balance + broughtMoves }
    await changeCursor(trx, purse, change)
    return { ...cursor, ...change }
  })
  crashPoint('deposit_read')
  return outcome
}

function rowOf({ direction, transaction, place, block, logIndex, party, amount, nonce }: ChainMove): NewMove {
  return { direction, transaction, place, block, logIndex, party, amount, nonce }
}

function byToken(strays: readonly ChainMove[]): Stray[] {
  const tokens = new Map<string, Stray>()
  for (const { token, amount, party: sender, transaction, block } of strays) {
    const known = tokens.get(token)
    const transfers = (known?.transfers ?? 0) + 1
    tokens.set(token, { token, transfers, amount: (known?.amount ?? 0n) + amount, sender, transaction, block })
  }
  return [...tokens.values()]
}

/**
 * Compares the sum of the transfers with the balance on the chain, at the end of the last block that was read. After a
 * difference, everything since the last proof is read again, with a pause that doubles without end. Payouts stop when
 * the difference lasts longer than an endpoint may be late. New blocks are read meanwhile.
 */
async function prove(ctx: MoveCtx, known: TreasuryCursor, hash: string): Promise<void> {
  const { chain, asset, treasury } = ctx.moves
  const purse = purseOf(ctx.moves)
  const { nextBlock } = known
  const block = nextBlock - 1n
  const [says, anchor] = await Promise.all([chain.balanceOf(asset, treasury, block), nextAnchor(chain, known, block)])
  await transact(ctx.db, async (trx) => {
    const cursor = await lockCursor(trx, purse)
    if (cursor === undefined || cursor.nextBlock !== nextBlock) return
    const missing = says - cursor.balance
    if (missing !== 0n && !cursor.isOpeningKnown) {
      await changeCursor(trx, purse, { opening: cursor.opening + missing, balance: says })
    }
    if (missing === 0n || !cursor.isOpeningKnown) {
      const whole = { misses: 0, difference: 0n, missingSince: null, rereadAt: null }
      await changeCursor(trx, purse, { provenBlock: block, provenHash: hash, anchor, ...whole })
      if (cursor.difference !== 0n) await liftPayouts(ctx, trx, BALANCE_HOLD)
      return
    }
    await noteMissing(ctx, trx, cursor, { missing, block })
  })
}

/** Records a difference, and has the blocks read again when the pause is over. */
async function noteMissing(
  ctx: MoveCtx,
  trx: Trx,
  { missingSince, rereadAt, misses, difference, provenBlock }: TreasuryCursor,
  { missing, block }: { readonly missing: bigint; readonly block: bigint },
): Promise<void> {
  const purse = purseOf(ctx.moves)
  const now = ctx.clock.now()
  const facts = { block: Number(block), missing: missing.toString() }
  const since = missingSince ?? new Date(now)
  const isLate = now - since.getTime() >= LATE_MS
  if (isLate && difference !== missing) {
    ctx.log.error(facts, 'the balance of the treasury does not match its transfers: payouts stop')
    await changeCursor(trx, purse, { difference: missing })
    await holdPayouts(ctx, trx, BALANCE_HOLD)
  }
  if (rereadAt !== null && now - rereadAt.getTime() < pauseAfter(misses)) return
  ctx.log.warn(facts, 'transfers of the treasury are read again')
  const again = { nextBlock: provenBlock + 1n, misses: misses + 1, missingSince: since, rereadAt: new Date(now) }
  await changeCursor(trx, purse, again)
}

/** Milliseconds between the last reading and the next. */
function pauseAfter(misses: number): number {
  return Math.min(REREAD_FIRST_MS * 2 ** Math.min(misses - 1, 20), REREAD_MOST_MS)
}
