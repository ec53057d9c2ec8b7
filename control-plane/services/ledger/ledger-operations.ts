import { z } from 'zod'
import { listBookedEntries } from '#control-plane/db/ledger-archive.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { DollarText, Ticket } from '#control-plane/services/input-fields.ts'
import { MicroDigits } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import { oneLine } from '#shared/texts.ts'
import type { LedgerLine } from './ledger.ts'
import type { LedgerMoveCtx, Move } from './ledger-debits.ts'
import { bookMove, findParty, Note, namesOneParty, ONE_PARTY, PartyFields } from './ledger-moves.ts'

/** A transaction as it was booked. Lines are signed micro-USD in plain digits. */
export const BookedMoveSchema = z.object({
  key: z.string(),
  kind: z.string(),
  lines: z
    .array(
      z.object({
        account: z.string(),
        amountMicro: MicroDigits,
      }),
    )
    .readonly(),
  /** True when this key was booked before with the same lines. */
  isRepeat: z.boolean(),
})
export type BookedMove = z.infer<typeof BookedMoveSchema>

/** Books a move for an operator, with its audit row, and returns the booked lines. */
export async function bookForOperator(ctx: LedgerMoveCtx, subject: string, move: Move): Promise<BookedMove> {
  const lines = move.entries.map(({ account, amount }) => ({ account, amountMicro: amount.toString() }))
  const reason = move.note === undefined ? {} : { reason: move.note }
  const change = { subject, before: null, after: { key: move.key, kind: move.kind, lines, ...reason } }
  const { isRepeat } = await bookMove(ctx, move, change)
  return { key: move.key, kind: move.kind, lines, isRepeat }
}

/** Two lines that move `amount` micro-USD from one account to another. */
function transfer(from: AccountId, to: AccountId, amount: bigint): LedgerLine[] {
  return [
    { account: from, amount: -amount },
    { account: to, amount },
  ]
}

/** Books money that a payment provider received for a buyer, once for each event of that provider. */
export const recordFiatDeposit = defineOperation({
  name: 'deposit.recordFiat',
  summary: 'Book a deposit through a payment provider',
  about: 'The ledger books it once for each event of the payment provider.',
  access: 'operator',
  input: z
    .strictObject({
      ...PartyFields,
      amountUsd: DollarText,
      /** The payment provider's own id of the event. A deposit is booked once for each id. */
      eventId: Ticket,
      note: Note.optional(),
    })
    .refine(namesOneParty, ONE_PARTY),
  limit: 'none',
  idempotency: 'none',
  output: BookedMoveSchema,
  run: async (ctx, _actor, input): Promise<BookedMove> => {
    const { account } = await findParty(ctx, input, ['buyer_credit'])
    const entries = transfer(PLATFORM_ACCOUNTS.externalFiat, account, input.amountUsd)
    return bookForOperator(ctx, account, {
      key: `deposit:fiat:${input.eventId}`,
      kind: 'deposit',
      note: input.note,
      entries,
    })
  },
})

/**
 * Books money that goes back to a buyer outside: a refund of a fiat payment, or a withdrawal. Each ticket is booked
 * once. Money that calls hold or have used cannot be refunded: `insufficient_balance` names the available amount. The
 * refund is limited to the buyer's own payments, without credit advanced to a wallet: `conflict` names the refundable
 * amount.
 */
export const refundFiat = defineOperation({
  name: 'refund.fiat',
  summary: 'Book a refund to a buyer',
  about:
    'The ledger books it once for each ticket. You cannot refund money that calls hold or have used. The note is the reason.',
  access: 'operator',
  input: z
    .strictObject({
      ...PartyFields,
      amountUsd: DollarText,
      ticket: Ticket,
      kind: z.enum(['refund', 'withdrawal']).default('refund'),
      note: Note.trim().min(1, 'say why'),
    })
    .refine(namesOneParty, ONE_PARTY),
  limit: 'none',
  idempotency: 'none',
  output: BookedMoveSchema,
  run: async (ctx, _actor, input): Promise<BookedMove> => {
    const { account } = await findParty(ctx, input, ['buyer_credit'])
    const entries = transfer(account, PLATFORM_ACCOUNTS.externalFiat, input.amountUsd)
    const { kind, ticket, note } = input
    return bookForOperator(ctx, account, { key: `${kind}:fiat:${ticket}`, kind, note, entries })
  },
})

const ADJUSTABLE: readonly AccountKind[] = [
  'buyer_credit',
  'seller_pending',
  'seller_available',
  'platform_shortfall',
  // The account of a debt that no wallet will pay. An operator writes it off.
  'wallet_advance',
]
const COUNTERS = { promo: PLATFORM_ACCOUNTS.promo, shortfall: PLATFORM_ACCOUNTS.shortfall } as const

/**
 * Moves money by hand, once for each ticket: to an account (`credit`) or from it (`debit`). The other side is either
 * promotion or the shortfall. A credit to the shortfall account out of promotion pays off the shortfall.
 */
export const adjustLedger = defineOperation({
  name: 'ledger.adjust',
  summary: 'Adjust a balance, once for each ticket',
  access: 'operator',
  input: z
    .strictObject({
      ...PartyFields,
      direction: z.enum(['credit', 'debit']),
      amountUsd: DollarText,
      counter: z.enum(['promo', 'shortfall']).default('promo'),
      ticket: Ticket,
      reason: oneLine(500).trim().min(1),
    })
    .refine(namesOneParty, ONE_PARTY),
  limit: 'none',
  idempotency: 'none',
  output: BookedMoveSchema,
  run: async (ctx, _actor, input): Promise<BookedMove> => {
    const { account } = await findParty(ctx, input, ADJUSTABLE)
    const counter = COUNTERS[input.counter]
    if (counter === account)
      throw new AppError('conflict', { message: 'The counter account must be a different account.' })
    const entries =
      input.direction === 'credit'
        ? transfer(counter, account, input.amountUsd)
        : transfer(account, counter, input.amountUsd)
    return bookForOperator(ctx, account, { key: `adjust:${input.ticket}`, kind: 'adjust', note: input.reason, entries })
  },
})

const ReadKeyInput = z.strictObject({ key: oneLine(180).min(3) })

/** Reads the lines under a ledger key or request id. */
export const readTransaction = defineOperation({
  name: 'ledger.read',
  summary: 'Get the ledger lines of a key or request id',
  access: 'operator',
  input: ReadKeyInput,
  limit: 'read',
  idempotency: 'none',
  output: BookedMoveSchema.omit({ isRepeat: true }),
  run: async (ctx, _actor, { key }): Promise<Omit<BookedMove, 'isRepeat'>> => {
    const bookedEntries = await listBookedEntries(ctx.db, key)
    const [first] = bookedEntries
    if (first === undefined) throw new AppError('not_found')
    return {
      key,
      kind: first.kind,
      lines: bookedEntries.map((line) => ({ account: line.account, amountMicro: line.amount.toString() })),
    }
  },
})
