import { z } from 'zod'
import { findUserByWallet } from '#control-plane/db/users.ts'
import type { Change } from '#control-plane/operation/audit.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import type { MoneyTransaction } from '#control-plane/ports/ledger/money-ledger.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { Wallet } from '#control-plane/services/input-fields.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import { oneLine } from '#shared/texts.ts'
import { confirmBuyers, mergeLines, postTransaction, requireSameEntries } from './ledger.ts'
import type { LedgerMoveCtx, Move } from './ledger-debits.ts'
import { bookDebit } from './ledger-debits.ts'

/** The fields that name an account. A wallet means its buyer account. */
export const PartyFields = {
  wallet: Wallet.optional(),
  account: z
    .string()
    .refine((text): text is AccountId => isId('acc', text), 'an account id must begin with acc_')
    .optional(),
}

export const Note = oneLine(500)

type Party = { readonly wallet?: string | undefined; readonly account?: AccountId | undefined }

/** True when exactly one of wallet and account is given. */
export function namesOneParty(input: Party): boolean {
  return (input.wallet === undefined) !== (input.account === undefined)
}
export const ONE_PARTY = 'name a wallet or an account'

/** Finds the named account. Throws `not_found` when it does not exist or has another kind. */
export async function findParty(
  ctx: Pick<Ctx, 'db' | 'ledger'>,
  party: Party,
  kinds: readonly AccountKind[],
): Promise<{ account: AccountId; kind: AccountKind }> {
  const account = party.account ?? (await findUserByWallet(ctx.db, party.wallet ?? ''))?.buyerAccount
  if (account === undefined) throw new AppError('not_found', { message: 'No account has this wallet.' })
  const kind = (await ctx.ledger.findKinds([account])).get(account)
  if (kind === undefined || !kinds.includes(kind)) {
    throw new AppError('not_found', { message: 'No account of this kind has this id.' })
  }
  return { account, kind }
}

/**
 * Books a transaction once, together with its audit row, and tells whether it is a repeat. Money that leaves a buyer is
 * first set aside in the gate, so no call can spend it at the same time. Throws `conflict` when the key was booked with
 * other entries, `insufficient_balance`, `not_found`, and for a debit `service_unavailable` while the gate is shut.
 */
export async function bookMove(ctx: LedgerMoveCtx, move: Move, change: Change): Promise<{ isRepeat: boolean }> {
  const lines = mergeLines(move.entries)
  const kinds = await ctx.ledger.findKinds(lines.map((line) => line.account))
  const payers = lines.filter((line) => line.amount < 0n && kinds.get(line.account) === 'buyer_credit')
  if (payers.length > 1)
    throw new AppError('conflict', { message: 'A transaction can take money from one buyer only.' })
  const [payer] = payers
  if (payer !== undefined) return bookDebit(ctx, { ...move, entries: lines }, payer, change)
  const post = async (trx: MoneyTransaction) => {
    const changed = await postTransaction(trx, { ...move, id: ctx.ids.ulid(), entries: lines })
    if (changed === undefined) await requireSameEntries(trx, move.key, lines)
    return changed
  }
  const postedRows = await ctx.change(
    (trx) => post(moneyTransaction(trx)),
    (changed) => (changed === undefined ? undefined : change),
  )
  if (postedRows === undefined) return { isRepeat: true }
  // The outbox row stays when this fails, so a later drain tells the gate.
  await confirmBuyers(ctx, postedRows).catch((error: unknown) =>
    ctx.log.warn({ err: error, key: move.key }, 'the gate gets the balance after a transaction later'),
  )
  return { isRepeat: false }
}
