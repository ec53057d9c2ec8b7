import { z } from 'zod'
import type { Trx } from '#control-plane/db/database.ts'
import { readAtOnce } from '#control-plane/db/database.ts'
import { MOVE_KINDS } from '#control-plane/db/tables/deposits.ts'
import type { Mismatch, TreasuryCheck } from '#control-plane/db/treasury-checks.ts'
import {
  allowLongReads,
  countDeposits,
  insertTreasuryCheck,
  listMissingMoves,
  listStrangeMoves,
  listTreasuryChecks,
} from '#control-plane/db/treasury-checks.ts'
import type { MoveSum, TreasuryCursor } from '#control-plane/db/treasury-moves.ts'
import { changeCursor, findCursor, lockCursor, sumMoves } from '#control-plane/db/treasury-moves.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { holdPayouts } from '#control-plane/services/payouts/payout-stops.ts'
import { Count, MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import type { MoveCtx } from './move-ctx.ts'
import { purseOf, requireMoves } from './move-ctx.ts'

/** Most comparisons that are stored, and most that are shown. */
const KEPT = 500
const SHOWN = 20
/** Most mismatches of each kind that are named. */
const NAMED = 100

type ReconcileCtx = Pick<MoveCtx, 'db' | 'clock' | 'ids' | 'log' | 'metrics' | 'moves'>

/**
 * Compares the treasury on the chain, its transfers, and the books: the sum of the transfers is the balance on the
 * chain, the books name each transfer, and the chain has every transfer of the books. A mismatch that endangers the
 * whole treasury stops payouts, and nothing else, until a person has looked. A mismatch of a single transfer is
 * named and stops nothing, because any wallet can send a transfer. Without an answer of the chain there is no verdict.
 */
export function reconcile(ctx: ReconcileCtx): Promise<TreasuryCheck> {
  return compareAndKeep(ctx, (_, keep) => ctx.db.transaction().execute(keep))
}

/** Compares, and stores the result together with a stop of payouts that follows from it. */
async function compareAndKeep(
  ctx: ReconcileCtx,
  keepBy: (check: TreasuryCheck, keep: (trx: Trx) => Promise<void>) => Promise<void>,
): Promise<TreasuryCheck> {
  const startedAt = new Date(ctx.clock.now())
  const begun = ctx.clock.monotonic()
  const compared = await compare(ctx)
  const check = {
    id: ctx.ids.ulid(),
    startedAt,
    tookMs: Math.round(ctx.clock.monotonic() - begun),
    ...compared,
    sums: compared.sums.map(({ amount, ...sum }) => ({ ...sum, amountMicro: amount.toString() })),
    mismatches: compared.mismatches.map(({ wrong }) => wrong),
  }
  const { failure, mismatches } = compared
  const stopping = mismatches.filter(({ scope }) => scope === 'all')
  if (failure === null) ctx.metrics.findings('treasury_mismatch', mismatches.length)
  if (stopping.length > 0) {
    ctx.log.error({ mismatches: check.mismatches }, 'the treasury and the books do not fit: payouts stop')
  } else if (mismatches.length > 0) {
    ctx.log.error({ mismatches: check.mismatches }, 'a transfer has another kind in the books: nothing stops')
  }
  await keepBy(check, async (trx) => {
    await insertTreasuryCheck(trx, check, KEPT)
    if (stopping.length > 0) await holdPayouts(ctx, trx, 'chain:reconciliation')
  })
  return check
}

type Compared = {
  readonly block: bigint | null
  readonly chainBalance: bigint | null
  readonly movesBalance: bigint | null
  readonly sums: readonly MoveSum[]
  readonly mismatches: readonly Mismatch[]
  readonly failure: string | null
}

const NOTHING = { block: null, chainBalance: null, movesBalance: null, sums: [], mismatches: [] }

const forAll = (wrong: string): Mismatch => ({ wrong, scope: 'all' })
const STRANGE = forAll(
  'the chain is not the one that was read: it was started anew, or the endpoint serves another chain',
)

type CompareCtx = Pick<MoveCtx, 'db' | 'log' | 'moves'>

async function compare(ctx: CompareCtx): Promise<Compared> {
  const { moves, db } = ctx
  const purse = purseOf(moves)
  // The books at one moment. No figure includes later entries.
  const books = await readAtOnce(db, async (trx) => {
    await allowLongReads(trx)
    const cursor = await findCursor(trx, purse)
    if (cursor === undefined) return undefined
    const span = { first: cursor.firstBlock, last: cursor.nextBlock - 1n }
    const strange = await listStrangeMoves(trx, purse, NAMED)
    const missing = await listMissingMoves(trx, purse, span, NAMED)
    return {
      cursor,
      sums: await sumMoves(trx, purse),
      wrong: [...strange, ...missing, ...(await miscounted(ctx, trx))],
    }
  })
  if (books === undefined) return { ...NOTHING, failure: 'nothing has been read yet' }
  const { cursor, sums, wrong } = books
  const block = cursor.nextBlock - 1n
  const movesBalance = sums.reduce(
    (left, { direction, amount }) => (direction === 'in' ? left + amount : left - amount),
    cursor.opening,
  )
  const facts = { block, movesBalance, sums }
  if (cursor.strangeSince !== null) return { ...NOTHING, ...facts, mismatches: [STRANGE], failure: null }
  const chainBalance = await readBalance(ctx, cursor)
  if (chainBalance === null) return { ...NOTHING, ...facts, failure: 'the chain is out of reach' }
  const unlike =
    movesBalance === chainBalance
      ? []
      : [forAll(`at block ${block} the treasury has ${chainBalance}, and its transfers leave ${movesBalance}`)]
  return { ...facts, chainBalance, mismatches: [...unlike, ...wrong], failure: null }
}

async function miscounted({ moves }: CompareCtx, trx: Parameters<typeof countDeposits>[0]): Promise<Mismatch[]> {
  const { posted, moved } = await countDeposits(trx, moves.chainId)
  return posted === moved ? [] : [forAll(`the books have ${posted} deposits, and ${moved} transfers are deposits`)]
}

/** The treasury's balance at the end of the last block that was read; null while the chain does not answer. */
async function readBalance({ moves, log }: CompareCtx, { nextBlock }: TreasuryCursor): Promise<bigint | null> {
  const { chain, chainId, asset, treasury } = moves
  try {
    await chain.checkChain(chainId)
    return await chain.balanceOf(asset, treasury, nextBlock - 1n)
  } catch (error) {
    log.warn({ err: error }, 'the treasury could not be compared with the chain')
    return null
  }
}

const SumsSchema = z.array(
  z.object({
    direction: z.enum(['in', 'out']),
    kind: z.enum(MOVE_KINDS),
    count: Count,
    amountMicro: MicroDigits,
  }),
)
export const ReconciliationSchema = z.object({
  id: z.string(),
  startedAt: UnixMs,
  tookMs: z.number(),
  /** The last block that was read; null before the first. */
  block: Count.nullable(),
  /** The balance on the chain, and the sum of the transfers. */
  chainMicro: MicroDigits.nullable(),
  movesMicro: MicroDigits.nullable(),
  /** Amounts in and out, by kind. */
  sums: SumsSchema.readonly(),
  /** Differences, each as a sentence. */
  mismatches: z.array(z.string()).readonly(),
  /** The reason why nothing was compared. */
  failure: z.string().nullable(),
})
export type Reconciliation = z.infer<typeof ReconciliationSchema>

function viewOf({ id, startedAt, tookMs, block, chainBalance, movesBalance, ...check }: TreasuryCheck): Reconciliation {
  return {
    id,
    startedAt: startedAt.getTime(),
    tookMs,
    failure: check.failure,
    block: block === null ? null : Number(block),
    chainMicro: chainBalance?.toString() ?? null,
    movesMicro: movesBalance?.toString() ?? null,
    sums: SumsSchema.parse(check.sums),
    mismatches: z.array(z.string()).parse(check.mismatches),
  }
}

/** Reads the last comparisons of the treasury with the books, newest first. */
export const readReconciliations = defineOperation({
  name: 'treasury.reconciliations',
  summary: 'List the last comparisons of the treasury with the books',
  access: 'operator',
  input: z.strictObject({}),
  limit: 'read',
  idempotency: 'none',
  output: z.array(ReconciliationSchema).readonly(),
  run: async (ctx): Promise<readonly Reconciliation[]> => (await listTreasuryChecks(ctx.db, SHOWN)).map(viewOf),
})

/**
 * Compares the treasury with the books now. With `isReread` the worker's next turn first reads the blocks since the
 * last proof again. Throws `conflict` where no chain is read.
 */
export const reconcileNow = defineOperation({
  name: 'treasury.reconcile',
  summary: 'Compare the treasury with the books',
  access: 'operator',
  input: z.strictObject({ isReread: z.boolean().default(false) }),
  limit: 'none',
  idempotency: 'none',
  output: ReconciliationSchema,
  run: async (ctx, _actor, { isReread }): Promise<Reconciliation> => {
    const moves = requireMoves(ctx)
    const purse = purseOf(moves)
    if (isReread) {
      await ctx.change(
        async (trx) => {
          const cursor = await lockCursor(trx, purse)
          if (cursor === undefined) return undefined
          await changeCursor(trx, purse, { nextBlock: cursor.provenBlock + 1n, misses: 0 })
          return { fromBlock: Number(cursor.provenBlock + 1n) }
        },
        (after) => (after === undefined ? undefined : { subject: purse.treasury, before: null, after }),
      )
    }
    const check = await compareAndKeep({ ...ctx, moves }, (made, keep) =>
      ctx.change(keep, () => ({ subject: purse.treasury, before: null, after: { check: made.id } })),
    )
    return viewOf(check)
  },
})
