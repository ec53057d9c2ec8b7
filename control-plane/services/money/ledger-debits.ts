import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { Debit } from '#control-plane/db/debits.ts'
import {
  findDebit,
  intendDebit,
  listUnfinishedDebits,
  lockDebit,
  markDebit,
  markDebitFreed,
  pinMoneyEpoch,
  startNextHold,
} from '#control-plane/db/debits.ts'
import { sumMoved } from '#control-plane/db/ledger-archive.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { formatMicroUsd, microUsd } from '#shared/money.ts'
import type { LedgerLine } from './ledger.ts'
import { confirmBuyers, mergeLines, postTransaction, requireSameEntries } from './ledger.ts'
import type { Move } from './ledger-moves.ts'

type DebitCtx = Pick<Ctx, 'db' | 'ledger' | 'gate' | 'debits' | 'ids' | 'log'>

/** How long money stays set aside for a debit whose process died; the sweeper goes on long before that. */
const HOLD_MS = 15 * MINUTE
/** How often a debit is tried again because the gate was rebuilt, or its hold ended, under it. */
const MAX_HOLDS = 5
/** A debit that nobody touched for so long was left by a process that died. */
const LEFT_AFTER_MS = 30 * SECOND
const MAX_SWEPT = 200
/** Answers after which a debit is over without having been booked. */
const REFUSALS: readonly string[] = ['insufficient_balance', 'conflict']

/**
 * Books a debit of one buyer: written down, set aside in the gate, posted, told to the gate, given back. Any step may be
 * the last of its process: whoever comes with the same key, or the sweeper, goes on from there. Throws AppErrors as
 * `bookMove` says; one that was refused changed nothing, so its key may be used again.
 */
export async function bookDebit(ctx: DebitCtx, move: Move, payer: LedgerLine): Promise<{ isRepeat: boolean }> {
  const { key, kind, note = null } = move
  const wish = { key, kind, note, tx: ctx.ids.ulid(), account: payer.account, amount: -payer.amount }
  const debit = await intendDebit(ctx.db, { ...wish, entries: move.entries })
  if (debit === undefined) throw new AppError('internal_error', { cause: new Error('a debit was not written down') })
  if (written(debit) !== written({ kind, entries: move.entries })) {
    throw new AppError('conflict', { message: 'This key stands for another transaction.' })
  }
  if (debit.state === 'posted') {
    await freeDebit(ctx, debit)
    return { isRepeat: true }
  }
  if (debit.state === 'refused') await markDebit(ctx.db, key, 'intended')
  await finishDebit(ctx, { ...debit, isFreed: false })
  return { isRepeat: false }
}

/** Finishes debits that were left between two steps; answers how many. One that fails waits for the next sweep. */
export async function finishDebits(ctx: DebitCtx, leftAfterMs = LEFT_AFTER_MS): Promise<number> {
  const debits = await listUnfinishedDebits(ctx.db, leftAfterMs, MAX_SWEPT)
  let finished = 0
  for (const debit of debits) {
    try {
      if (debit.state === 'intended') await finishDebit(ctx, debit)
      else await freeDebit(ctx, debit)
      finished += 1
    } catch (error) {
      if (error instanceof AppError && REFUSALS.includes(error.code)) finished += 1
      else ctx.log.warn({ err: error, key: debit.key }, 'a debit that was left waits for the next sweep')
    }
  }
  return finished
}

async function finishDebit(ctx: DebitCtx, first: Debit): Promise<void> {
  let debit = first
  for (let tries = 0; tries < MAX_HOLDS; tries++) {
    const held = await ctx.debits.hold({
      id: holdId(debit),
      account: debit.account,
      amountMicro: microUsd(debit.amount),
      ttlMs: HOLD_MS,
    })
    if (held.kind === 'held') {
      if (await post(ctx, debit, held.epoch)) return freeDebit(ctx, debit)
    } else if (held.kind === 'unseeded') {
      await seedAccount(ctx, debit)
    } else if (held.kind === 'insufficient') {
      await refuse(ctx, debit)
      throw new AppError('insufficient_balance', {
        detail: { account: debit.account, available: formatMicroUsd(held.availableMicro) },
      })
    } else {
      // Somebody else may have finished it just now, or its hold ran out.
      const now = await findDebit(ctx.db, debit.key)
      if (now === undefined || now.state === 'posted') return
      await startNextHold(ctx.db, now.key, now.holdNumber)
      debit = (await findDebit(ctx.db, debit.key)) ?? debit
    }
  }
  throw new AppError('service_unavailable', { retryAfterSeconds: 1 })
}

/** False when the gate was rebuilt since the hold was taken: then nothing is set aside any more. */
async function post(ctx: DebitCtx, debit: Debit, epoch: number): Promise<boolean> {
  const outcome = await transact(ctx.db, async (trx) => {
    const now = await lockDebit(trx, debit.key)
    if (now === undefined || now.state === 'posted') return { changed: [] }
    // Pinned until the commit: the next rebuild reads balances that hold this debit.
    if ((await pinMoneyEpoch(trx)) !== epoch) return undefined
    const { tx: id, key, kind, entries, note } = debit
    const transaction = { id, key, kind, entries, note: note ?? undefined }
    const ledger = moneyTransaction(trx)
    const changed = await postTransaction(ledger, transaction)
    // The key may stand for a transaction that was no debit.
    if (changed === undefined) await requireSameEntries(ledger, key, entries)
    await requirePaidIn(trx, debit)
    await markDebit(trx, key, 'posted')
    return { changed: changed ?? [] }
  }).catch(async (error: unknown) => {
    if (error instanceof AppError && error.code !== 'service_unavailable') await refuse(ctx, debit)
    throw error
  })
  if (outcome === undefined) return false
  await confirmBuyers(ctx, outcome.changed).catch((error: unknown) =>
    ctx.log.warn({ err: error, key: debit.key }, 'the gate will hear of a debit later'),
  )
  return true
}

/**
 * Throws `conflict` when more would have gone back outside than this buyer paid in: credit that was granted is no money
 * of his. His account is locked by the posting, so that of two refunds the second sees the first.
 */
async function requirePaidIn(trx: Trx, { account, amount, entries }: Debit): Promise<void> {
  const outside = PLATFORM_ACCOUNTS.externalFiat
  if (!entries.some((line) => line.account === outside)) return
  const beyond = await sumMoved(trx, account, outside)
  if (beyond <= 0n) return
  throw new AppError('conflict', {
    message: 'No more goes back outside than this buyer paid in.',
    detail: { account, available: (amount > beyond ? amount - beyond : 0n).toString() },
  })
}

async function refuse(ctx: DebitCtx, debit: Debit): Promise<void> {
  await markDebit(ctx.db, debit.key, 'refused')
  await freeDebit(ctx, debit)
}

/**
 * Gives back what is set aside. The sweeper comes again when the gate is away, and the hold has an end of its own. For the
 * moment between balance and hold the same money is missing twice: too low, never too high.
 */
async function freeDebit(ctx: DebitCtx, debit: Debit): Promise<void> {
  if (debit.isFreed) return
  try {
    // The gate has to know the balance first, or it would let the same money be spent meanwhile.
    await seedAccount(ctx, debit)
    await ctx.debits.free({ id: holdId(debit), account: debit.account })
    await markDebitFreed(ctx.db, debit.key)
  } catch (error) {
    ctx.log.warn({ err: error, key: debit.key }, 'the hold of a debit is given back later')
  }
}

async function seedAccount(ctx: DebitCtx, { account }: Debit): Promise<void> {
  const balances = await ctx.ledger.findBalances([account])
  await ctx.gate.seed(balances.map(({ balance, version }) => ({ account, balanceMicro: microUsd(balance), version })))
}

function holdId({ key, holdNumber }: Debit): string {
  return holdNumber === 1 ? key : `${key}#${holdNumber}`
}

function written({ kind, entries }: { readonly kind: string; readonly entries: readonly LedgerLine[] }): string {
  const lines = mergeLines(entries).map((line) => `${line.account}=${line.amount}`)
  return [kind, ...lines].join()
}
