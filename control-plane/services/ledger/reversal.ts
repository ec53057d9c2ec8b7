import { z } from 'zod'
import { findChainPayment } from '#control-plane/db/chain-payments.ts'
import type { BookedLine } from '#control-plane/db/ledger-archive.ts'
import { findLedgerNames, listBookedEntries } from '#control-plane/db/ledger-archive.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { AppError } from '#shared/errors.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { isTransactionKind, TRANSACTION_KINDS } from '#shared/ledger/transaction-kinds.ts'
import { oneLine } from '#shared/texts.ts'
import { mergeLines } from './ledger.ts'
import type { BookedMove } from './ledger-operations.ts'
import { BookedMoveSchema, bookForOperator } from './ledger-operations.ts'

/**
 * Books the opposite of a transaction, once. The transaction is found by its ledger key, its id, or the request id of a
 * call. Money that the reversal takes from a buyer is set aside first, as for any debit. Throws `not_found`, `conflict`
 * for a transaction that cannot be reversed, and what `bookMove` throws.
 */
export const reverseTransaction = defineOperation({
  name: 'ledger.reverse',
  summary: 'Reverse a transaction, once',
  about:
    'For calls, deposits through a payment provider, grants, refunds, withdrawals and adjustments. A long job is reversed as a whole after its end.',
  access: 'operator',
  input: z.strictObject({ key: oneLine(170).min(3), reason: oneLine(500).trim().min(1) }),
  limit: 'none',
  idempotency: 'none',
  output: BookedMoveSchema,
  run: async (ctx, _actor, input): Promise<BookedMove> => {
    const { key, bookedEntries } = await findReversible(ctx, input.key)
    const entries = mergeLines(bookedEntries.map(({ account, amount }) => ({ account, amount: -amount })))
    if (entries.length === 0) throw new AppError('conflict', { message: 'This call cost nothing.' })
    return bookForOperator(ctx, key, { key: `reverse:${key}`, kind: 'reverse', note: input.reason, entries })
  },
})

type ReverseCtx = Pick<Ctx, 'db' | 'ledger'>
/** The one name under which a transaction is reversed, and the lines to reverse. */
type Reversible = { readonly key: string; readonly bookedEntries: readonly BookedLine[] }

async function findReversible(ctx: ReverseCtx, keyOrId: string): Promise<Reversible> {
  const bookedEntries = await listBookedEntries(ctx.db, keyOrId)
  const [first] = bookedEntries
  if (first === undefined) throw new AppError('not_found', { message: 'No transaction has this key.' })
  const { kind } = first
  const reversal = isTransactionKind(kind) ? TRANSACTION_KINDS[kind] : 'never'
  // A transaction that has a key is reversed under the key, so that its id does not reverse it again.
  const names = await findLedgerNames(ctx.db, keyOrId)
  const key = names?.key ?? keyOrId
  if (names !== undefined) await requireUnreversed(ctx, names.tx)
  switch (reversal) {
    case 'never':
      throw new AppError('conflict', {
        message: NEVER[kind] ?? `A transaction of the kind ${kind} cannot be reversed.`,
      })
    case 'with_job':
      return kind === 'escrow'
        ? findJobCharge(ctx, key, { quote: bookedEntries })
        : findJobCharge(ctx, key.slice(END_KEY.length), { end: bookedEntries })
    case 'fiat_only':
      if (bookedEntries.some(({ account }) => account === PLATFORM_ACCOUNTS.externalUsdc)) {
        throw new AppError('conflict', { message: 'A transfer on the chain cannot be reversed. Adjust the balance.' })
      }
      break
    case 'alone':
      if (names === undefined) await requireArrival(ctx, key)
  }
  return { key, bookedEntries }
}

const END_KEY = 'end:'
const NEVER: Readonly<Record<string, string>> = { reverse: 'A reversal cannot be reversed.' }

/** Throws `conflict` for a transaction that was reversed under another of its names, as earlier versions did. */
async function requireUnreversed({ ledger }: ReverseCtx, name: string): Promise<void> {
  if ((await ledger.findLedgerKey(`reverse:${name}`)) !== undefined) {
    throw new AppError('conflict', { message: 'This transaction was reversed under another name.' })
  }
}

/**
 * The charge of a job that has ended: the lines of its quote and of its end. The escrow's lines cancel out, so the
 * quotes of other jobs of the buyer stay in escrow.
 */
async function findJobCharge(
  ctx: ReverseCtx,
  rid: string,
  known: { readonly quote?: readonly BookedLine[]; readonly end?: readonly BookedLine[] },
): Promise<Reversible> {
  const end = known.end ?? (await listBookedEntries(ctx.db, `${END_KEY}${rid}`))
  if (end.length === 0) throw new AppError('conflict', { message: 'This job still runs. Reverse it after its end.' })
  await requireUnreversed(ctx, `${END_KEY}${rid}`)
  await requireArrival(ctx, rid)
  const quote = known.quote ?? (await listBookedEntries(ctx.db, rid))
  return { key: rid, bookedEntries: [...quote, ...end] }
}

/**
 * Throws `conflict` for a call whose payment by wallet did not arrive. The platform paid the seller, so the buyer has
 * nothing to get back.
 */
async function requireArrival({ db }: ReverseCtx, rid: string): Promise<void> {
  const payment = await findChainPayment(db, rid)
  if (payment !== undefined && (payment.state !== 'confirmed' || payment.bookedAt === null)) {
    throw new AppError('conflict', { message: 'The payment of this call has not arrived, so it cannot go back.' })
  }
}
