import { findLine } from '#control-plane/db/allowances.ts'
import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import type { Debit, NewDebit } from '#control-plane/db/debits.ts'
import {
  endDebit,
  findDebit,
  intendDebit,
  listUnfinishedDebits,
  lockDebit,
  markDebitFreed,
  pinMoneyEpoch,
  renewDebit,
  startNextHold,
} from '#control-plane/db/debits.ts'
import { sumMoved } from '#control-plane/db/ledger-archive.ts'
import type { Change } from '#control-plane/operation/audit.ts'
import { recordNote } from '#control-plane/operation/audit.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { RunCtx } from '#control-plane/operation/operation.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { lowerBigint } from '#shared/bigints.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import { AppError } from '#shared/errors.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { TransactionKind } from '#shared/ledger/transaction-kinds.ts'
import { formatMicroUsd, microUsd } from '#shared/money.ts'
import { freeHold, seedAccount } from './free-hold.ts'
import type { LedgerLine } from './ledger.ts'
import { confirmBuyers, mergeLines, postTransaction, requireSameEntries } from './ledger.ts'

/** The context to book a transaction for an operation, with its audit. */
export type LedgerMoveCtx = DebitCtx & Pick<RunCtx, 'change' | 'note'>

/** A transaction that an operator asks for. It is booked at most once for its key. */
export type Move = {
  readonly key: string
  readonly kind: TransactionKind
  readonly note: string | undefined
  readonly entries: readonly LedgerLine[]
}

export type DebitCtx = Pick<Ctx, 'db' | 'ledger' | 'gate' | 'debits' | 'clock' | 'ids' | 'log'>

/**
 * Time for which money stays set aside for a debit whose process died. The sweeper continues the debit long before its
 * end.
 */
const HOLD_MS = 15 * MINUTE
/** Most holds of one debit. A debit takes a new hold when the gate was rebuilt or its hold expired. */
const MAX_HOLDS = 5
/** A debit untouched for this long belongs to a process that died. */
const LEFT_AFTER_MS = 30 * SECOND
const MAX_SWEPT = 200
/** Error codes that end a debit without booking it. */
const REFUSALS: readonly string[] = ['insufficient_balance', 'conflict']

/**
 * Books a debit of one buyer in five steps: store the debit, set the amount aside in the gate, post it, tell the gate,
 * free the hold. A process may die after any step. The next caller with the same key, or the sweeper, continues. The
 * audit has a row of the request and a row of the posting or refusal, each in the transaction of its step. Throws
 * AppErrors as `bookMove` does. A refused debit changes nothing, so its key may be used again.
 */
export async function bookDebit(
  ctx: LedgerMoveCtx,
  move: Move,
  payer: LedgerLine,
  change: Change,
): Promise<{ isRepeat: boolean }> {
  const { key, kind, note = null, entries } = move
  const newDebit = { key, kind, note, tx: ctx.ids.ulid(), account: payer.account, amount: -payer.amount, entries }
  const { debit } = await ctx.change(
    (trx) => beginDebit(trx, { ...newDebit, audit: ctx.note(change) }),
    (begun) => (begun.isBegun ? { ...change, after: { ...change.after, state: 'intended' } } : undefined),
  )
  return goOn(ctx, debit)
}

/** Books a debit that a worker asks for. The audit has only the row of its posting. Throws as `bookDebit` does. */
export async function bookOwnDebit(ctx: DebitCtx, newDebit: NewDebit): Promise<{ isRepeat: boolean }> {
  const { debit } = await transact(ctx.db, (trx) => beginDebit(trx, newDebit))
  return goOn(ctx, debit)
}

async function goOn(ctx: DebitCtx, debit: Debit): Promise<{ isRepeat: boolean }> {
  if (debit.state === 'posted') {
    await freeDebit(ctx, debit)
    return { isRepeat: true }
  }
  return { isRepeat: await finishDebit(ctx, debit) }
}

/** Stores a debit, or finds the debit of its key. `isBegun` is false when another caller began it. */
async function beginDebit(trx: Trx, newDebit: NewDebit): Promise<{ debit: Debit; isBegun: boolean }> {
  const isNew = await intendDebit(trx, newDebit)
  const debit = await lockDebit(trx, newDebit.key)
  if (debit === undefined) throw new AppError('internal_error', { cause: new Error('a debit was not written down') })
  if (written(debit) !== written(newDebit)) {
    throw new AppError('conflict', { message: 'This key belongs to another transaction.' })
  }
  if (debit.state !== 'refused') return { debit, isBegun: isNew }
  await renewDebit(trx, newDebit)
  return { debit: { ...debit, state: 'intended', isFreed: false, audit: newDebit.audit }, isBegun: true }
}

/**
 * Finishes debits that were left between two steps and returns their number. A failed debit waits for the next sweep.
 */
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

/** Sets a debit's amount aside and posts the debit. Returns true when another caller had posted it. */
async function finishDebit(ctx: DebitCtx, first: Debit): Promise<boolean> {
  let debit = first
  for (let tries = 0; tries < MAX_HOLDS; tries++) {
    const debitHold = await ctx.debits.hold({
      id: holdId(debit),
      account: debit.account,
      amountMicro: microUsd(debit.amount),
      ttlMs: HOLD_MS,
    })
    if (debitHold.kind === 'held') {
      const posted = await post(ctx, debit, debitHold.epoch)
      if (posted !== undefined) {
        await freeDebit(ctx, debit)
        return posted.isRepeat
      }
    } else if (debitHold.kind === 'unseeded') {
      await seedAccount(ctx, debit.account)
    } else if (debitHold.kind === 'insufficient') {
      const detail = { account: debit.account, available: formatMicroUsd(debitHold.availableMicro) }
      const refusal = new AppError('insufficient_balance', { detail })
      await refuse(ctx, debit, refusal)
      throw refusal
    } else {
      // A second process may just have finished the debit, or the hold has expired.
      const now = await findDebit(ctx.db, debit.key)
      if (now === undefined || now.state === 'posted') return true
      await startNextHold(ctx.db, now.key, now.holdNumber)
      debit = (await findDebit(ctx.db, debit.key)) ?? debit
    }
  }
  throw new AppError('service_unavailable', { retryAfterSeconds: 1 })
}

/** Posts a debit with its audit row. Returns undefined when the gate was rebuilt after the hold, which is then void. */
async function post(ctx: DebitCtx, debit: Debit, epoch: number): Promise<{ readonly isRepeat: boolean } | undefined> {
  const outcome = await transact(ctx.db, async (trx) => {
    const now = await lockDebit(trx, debit.key)
    if (now === undefined || now.state === 'posted') return { changed: undefined }
    if (now.state === 'refused') throw new AppError('conflict', { message: 'This debit was refused a moment ago.' })
    // The epoch stays pinned until the commit, so the next rebuild reads balances that include this debit.
    if ((await pinMoneyEpoch(trx)) !== epoch) return undefined
    const { tx: id, key, kind, entries, note } = now
    const transaction = { id, key, kind, entries, note: note ?? undefined }
    const ledger = moneyTransaction(trx)
    const changed = await postTransaction(ledger, transaction)
    // The key may belong to a transaction that is no debit.
    if (changed === undefined) await requireSameEntries(ledger, key, entries)
    await requireOwnMoney(ctx, trx, debit)
    await endDebit(trx, key, 'posted')
    if (changed !== undefined) await recordNote(ctx, trx, now.audit)
    return { changed }
  }).catch(async (error: unknown) => {
    if (error instanceof AppError && error.code !== 'service_unavailable') await refuse(ctx, debit, error)
    throw error
  })
  if (outcome === undefined) return undefined
  const { changed } = outcome
  await confirmBuyers(ctx, changed ?? []).catch((error: unknown) =>
    ctx.log.warn({ err: error, key: debit.key }, 'the gate gets the balance after a debit later'),
  )
  return { isRepeat: changed === undefined }
}

/**
 * Throws `conflict` for an amount above the buyer's payments from outside, or above the buyer's own money. Granted
 * credit cannot be withdrawn, and neither can credit that the market advanced to a wallet. The posting has locked the
 * account, so the second of two refunds sees the first.
 */
async function requireOwnMoney(ctx: Pick<DebitCtx, 'gate'>, trx: Trx, debit: Debit): Promise<void> {
  const { account, amount, entries } = debit
  const outside = PLATFORM_ACCOUNTS.externalFiat
  if (!entries.some((line) => line.account === outside)) return
  const [unpaid, lent] = [await sumMoved(trx, account, outside), await findLent(ctx, trx, debit)]
  if (unpaid <= 0n && lent <= 0n) return
  const left = lowerBigint(amount - unpaid, amount - lent)
  throw new AppError('conflict', {
    message:
      unpaid > 0n
        ? 'A refund is at most the amount that this buyer paid in.'
        : 'A refund is at most this buyer’s own money. The rest is credit advanced to a wallet.',
    detail: { account, available: (left > 0n ? left : 0n).toString() },
  })
}

/**
 * The part of a posted debit that would use credit advanced to a wallet. Calls spend an account's own credit first, so
 * their holds and unbooked charges count against it. The gate's held amount includes this debit.
 */
async function findLent({ gate }: Pick<DebitCtx, 'gate'>, trx: Trx, { account, amount }: Debit): Promise<bigint> {
  const line = await findLine(trx, account)
  if (line === undefined || line.advanced === 0n) return 0n
  const gateBalance = await gate.spendable(account)
  if (gateBalance === undefined) throw new AppError('service_unavailable', { retryAfterSeconds: 1 })
  const takenMicro = gateBalance.heldMicro + gateBalance.unpostedMicro - amount
  return line.advanced + takenMicro - line.posted
}

/** Refuses a debit with its audit row, unless it has ended, and frees its hold. */
async function refuse(ctx: DebitCtx, debit: Debit, { code }: AppError): Promise<void> {
  const { audit } = debit
  await transact(ctx.db, async (trx) => {
    if (!(await endDebit(trx, debit.key, 'refused'))) return
    const after = { ...audit.after, state: 'refused', code }
    await recordNote(ctx, trx, { ...audit, before: { state: 'intended' }, after })
  })
  await freeDebit(ctx, debit)
}

/**
 * Frees the amount that is set aside. When the gate is away the sweeper tries again, and the hold also expires. Between
 * the balance change and the release the amount is subtracted twice, so the buyer sees too little and never too much.
 */
async function freeDebit(ctx: DebitCtx, debit: Debit): Promise<void> {
  if (debit.isFreed) return
  try {
    await freeHold(ctx, { id: holdId(debit), account: debit.account })
    await markDebitFreed(ctx.db, debit.key)
  } catch (error) {
    ctx.log.warn({ err: error, key: debit.key }, 'the hold of a debit is released later')
  }
}

function holdId({ key, holdNumber }: Debit): string {
  return holdNumber === 1 ? key : `${key}#${holdNumber}`
}

function written({ kind, entries }: { readonly kind: string; readonly entries: readonly LedgerLine[] }): string {
  const lines = mergeLines(entries).map((line) => `${line.account}=${line.amount}`)
  return [kind, ...lines].join()
}
