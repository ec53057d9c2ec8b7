import { z } from 'zod'
import { findBalances } from '#control-plane/db/accounts.ts'
import { listEntries } from '#control-plane/db/entries.ts'
import { listDeskTransfers } from '#control-plane/db/payout-desk.ts'
import type { MaskedKey, SupportDeposit } from '#control-plane/db/support.ts'
import { findHolder, listKeysOf, listSupportCalls, listSupportDeposits } from '#control-plane/db/support.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { HoldViewSchema, readOpenHolds } from '#control-plane/services/controls/open-holds.ts'
import { readCredit } from '#control-plane/services/ledger/credit.ts'
import { MicroDigits, UnixMs } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import { microUsd } from '#shared/money.ts'
import { oneLine } from '#shared/texts.ts'
import { SupportCallSchema, viewOfCall } from './read-call.ts'

/** Lines of each list of the screen. */
const LINES = 25
const MAX_HOLDS = 50

const SupportKeySchema = z.object({
  id: z.string(),
  type: z.enum(['buyer', 'seller', 'management']),
  keyPrefix: z.string(),
  label: z.string(),
  createdAt: UnixMs,
  lastUsedAt: UnixMs.nullable(),
  expiresAt: UnixMs.nullable(),
  revokedAt: UnixMs.nullable(),
  frozenAt: UnixMs.nullable().describe('When its owner froze the key. Null while it works.'),
})

const SupportDepositSchema = z.object({
  id: z.string(),
  method: z.string(),
  sender: z.string(),
  amountMicro: MicroDigits,
  state: z.string(),
  reason: z.string().nullable(),
  transaction: z.string().nullable(),
  openedAt: UnixMs,
})

const SupportPayoutSchema = z.object({
  id: z.string(),
  state: z.string(),
  amountMicro: MicroDigits,
  recipient: z.string(),
  plannedAt: UnixMs,
  reason: z.string().nullable(),
  transaction: z.string().nullable(),
})

const SupportEntrySchema = z.object({
  id: z.string(),
  kind: z.string(),
  amountMicro: MicroDigits,
  note: z.string().nullable(),
  at: UnixMs,
})

/** A customer for support: who it is, and the newest lines of everything about its money. No secret is in it. */
export const SupportAccountSchema = z
  .object({
    buyerAccount: z.string(),
    sellerAccount: z.string(),
    user: z.string().nullable(),
    wallet: z.string().nullable(),
    workspace: z.string().nullable(),
    organization: z.string().nullable(),
    name: z.string().nullable(),
    createdAt: UnixMs,
    spendableMicro: MicroDigits.describe('The amount that the buyer can spend now.'),
    heldMicro: MicroDigits.describe('The amount that is set aside for running calls.'),
    balanceMicro: MicroDigits.describe('The balance of the buyer in the ledger.'),
    earnedMicro: MicroDigits.describe('Earnings of the seller that are not paid out.'),
    keys: z.array(SupportKeySchema).readonly(),
    calls: z.array(SupportCallSchema).readonly(),
    entries: z.array(SupportEntrySchema).readonly(),
    deposits: z.array(SupportDepositSchema).readonly(),
    holds: z.array(HoldViewSchema).readonly().nullable().describe('Null while the gate is unreachable.'),
    payouts: z.array(SupportPayoutSchema).readonly(),
  })
  .meta({ id: 'SupportAccount', description: 'A customer, with balances, masked keys and the newest calls.' })
export type SupportAccount = z.infer<typeof SupportAccountSchema>

/** Reads a customer by the account of either side. Throws `not_found`. */
export const readSupportAccount = defineOperation({
  name: 'support.account',
  summary: 'Get a customer: balances, keys, calls and payments',
  about: 'By the account of either side. Keys are masked.',
  access: 'operator',
  input: z.strictObject({ account: oneLine(100) }),
  limit: 'read',
  idempotency: 'none',
  output: SupportAccountSchema,
  run: async (ctx, _actor, { account }): Promise<SupportAccount> => {
    const { db } = ctx
    const holder = await findHolder(db, account)
    if (holder === undefined) throw new AppError('not_found', { message: 'No customer has this account.' })
    const { buyerAccount, sellerAccount, createdAt, ...named } = holder
    const [credit, balances, keys, calls, entries, deposits, holds, payouts] = await Promise.all([
      readCredit(ctx, buyerAccount),
      findBalances(db, [buyerAccount, sellerAccount]),
      listKeysOf(db, holder, LINES),
      listSupportCalls(db, buyerAccount, LINES),
      listEntries(db, buyerAccount, { before: undefined, limit: LINES }),
      listSupportDeposits(db, buyerAccount, LINES),
      readOpenHolds(ctx, { account: buyerAccount, limit: MAX_HOLDS }).catch((error: unknown) => {
        ctx.log.debug({ err: error }, 'a customer is shown without holds')
        return null
      }),
      listDeskTransfers(db, { state: undefined, seller: sellerAccount, recipient: undefined }, LINES),
    ])
    const balanceOf = (id: string) => microUsd(balances.find((row) => row.account === id)?.balance ?? 0n).toString()
    return {
      ...named,
      buyerAccount,
      sellerAccount,
      createdAt: createdAt.getTime(),
      spendableMicro: credit.creditBalanceUsdc,
      heldMicro: credit.heldUsdc,
      balanceMicro: balanceOf(buyerAccount),
      earnedMicro: balanceOf(sellerAccount),
      keys: keys.map(viewOfKey),
      calls: calls.map(viewOfCall),
      entries: entries.map(({ amount, at, ...entry }) => ({
        ...entry,
        amountMicro: amount.toString(),
        at: at.getTime(),
      })),
      deposits: deposits.map(viewOfDeposit),
      holds,
      payouts: payouts.map(({ id, state, amount, recipient, plannedAt, reason, transaction }) => ({
        id,
        state,
        amountMicro: amount.toString(),
        recipient,
        plannedAt: plannedAt.getTime(),
        reason,
        transaction,
      })),
    }
  },
})

function viewOfKey({ account: _account, createdAt, lastUsedAt, expiresAt, revokedAt, frozenAt, ...key }: MaskedKey) {
  return {
    ...key,
    createdAt: createdAt.getTime(),
    lastUsedAt: lastUsedAt?.getTime() ?? null,
    expiresAt: expiresAt?.getTime() ?? null,
    revokedAt: revokedAt?.getTime() ?? null,
    frozenAt: frozenAt?.getTime() ?? null,
  }
}

function viewOfDeposit({ amount, openedAt, ...deposit }: SupportDeposit) {
  return { ...deposit, amountMicro: amount.toString(), openedAt: openedAt.getTime() }
}
