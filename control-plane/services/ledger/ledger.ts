import { z } from 'zod'
import type { Balance } from '#control-plane/db/accounts.ts'
import type { Movement } from '#control-plane/db/ledger.ts'
import { findUserByWallet } from '#control-plane/db/users.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import type { MoneyReads, MoneyTransaction } from '#control-plane/ports/ledger/money-ledger.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import { DollarText, Ticket, Wallet } from '#control-plane/services/input-fields.ts'
import { MicroDigits } from '#control-plane/services/view-fields.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import { ACCOUNT_KINDS, PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { TransactionKind } from '#shared/ledger/transaction-kinds.ts'
import type { MicroUsd } from '#shared/money.ts'
import { formatMicroUsd, MAX_MICRO_USD, microUsd } from '#shared/money.ts'
import { oneLine } from '#shared/texts.ts'

/** A line of a transaction in signed micro-USD. A positive amount flows into the account. */
export type LedgerLine = { readonly account: AccountId; readonly amount: bigint }

export type NewLedgerTransaction = {
  /** A ULID. */
  readonly id: string
  /** The key under which it is booked once: `deposit:{chain}:{hash}:{index}`, `grant:{ticket}`. */
  readonly key: string
  readonly kind: TransactionKind
  readonly note?: string | undefined
  readonly entries: readonly LedgerLine[]
}

/** Merges lines into one for each account, sorted by account id. Accounts whose lines sum to zero are left out. */
export function mergeLines(lines: readonly LedgerLine[]): LedgerLine[] {
  const amounts = new Map<AccountId, bigint>()
  for (const { account, amount } of lines) amounts.set(account, (amounts.get(account) ?? 0n) + amount)
  return [...amounts]
    .filter(([, amount]) => amount !== 0n)
    .map(([account, amount]) => ({ account, amount }))
    .sort((left, right) => (left.account < right.account ? -1 : 1))
}

/**
 * Books a transaction once, inside the caller's database transaction, and returns the balances that it changed. Returns
 * undefined and changes nothing when its key is booked already. Throws AppErrors: `not_found` for an unknown account,
 * `insufficient_balance` when an account would pass its lower bound, `conflict` past the limit of a balance, and
 * `internal_error` for lines that do not sum to zero.
 */
export async function postTransaction(
  trx: MoneyTransaction,
  transaction: NewLedgerTransaction,
): Promise<Balance[] | undefined> {
  const { id, key, kind, note = null } = transaction
  const lines = mergeLines(transaction.entries)
  if (lines.length < 2 || lines.reduce((sum, line) => sum + line.amount, 0n) !== 0n) {
    throw new AppError('internal_error', { cause: new Error(`the entries of ${key} do not sum to zero`) })
  }
  if (!(await trx.claimLedgerKey(key, id))) return undefined
  const accounts = lines.map((line) => line.account)
  const kinds = await trx.findKinds(accounts)
  const unknown = accounts.find((account) => !kinds.has(account))
  if (unknown !== undefined) throw new AppError('not_found', { detail: { account: unknown } })
  const locked = await trx.lockAccounts(accounts)
  for (const { account, amount } of lines) {
    const row = locked.get(account)
    const kind = kinds.get(account)
    const bound = kind === undefined ? 'none' : ACCOUNT_KINDS[kind].bound
    const balance = (row?.balance ?? 0n) + amount
    if (bound === 'not_below_zero' && balance < 0n) throw new AppError('insufficient_balance', { detail: { account } })
    if (bound === 'not_below_zero' && balance >= MAX_MICRO_USD)
      throw new AppError('conflict', { message: 'The balance would exceed its limit.' })
    if (bound === 'not_above_zero' && balance > 0n)
      throw new AppError('conflict', { message: 'The amount is larger than the debt.' })
  }
  await trx.insertTransactions([{ id, kind, note }])
  await trx.insertEntries(lines.map((line) => ({ tx: id, ...line })))
  const movements: Movement[] = lines.map((line) => ({ ...line, entries: 1 }))
  return trx.moveBalances(movements)
}

/** Most changes that are sent to the gate at once, and most rounds of one drain. */
const DRAIN_BATCH = 500
const DRAIN_ROUNDS = 200

/**
 * Sends the spending gate every balance that it has not confirmed, and returns their number. Throws
 * `service_unavailable` while the gate is away. The rows then wait for the next drain.
 */
export async function drainAccountChanges(ctx: Pick<Ctx, 'ledger' | 'gate'>): Promise<number> {
  let announced = 0
  for (let round = 0; round < DRAIN_ROUNDS; round++) {
    const changes = await ctx.ledger.listAccountChanges(DRAIN_BATCH)
    if (changes.length > 0) await confirmBalances(ctx, changes)
    announced += changes.length
    if (changes.length < DRAIN_BATCH) break
  }
  return announced
}

/** Sends the gate the buyer accounts among changed balances. The gate knows no other accounts. */
export async function confirmBuyers(ctx: Pick<Ctx, 'ledger' | 'gate'>, balances: readonly Balance[]): Promise<void> {
  const kinds = await ctx.ledger.findKinds(balances.map((row) => row.account))
  const buyers = balances.filter((row) => kinds.get(row.account) === 'buyer_credit')
  if (buyers.length > 0) await confirmBalances(ctx, buyers)
}

/** Seeds the gate with buyers' balances and deletes their outbox rows. */
async function confirmBalances(ctx: Pick<Ctx, 'ledger' | 'gate'>, balances: readonly Balance[]): Promise<void> {
  await ctx.gate.seed(
    balances.map(({ account, balance, version }) => ({ account, balanceMicro: microUsd(balance), version })),
  )
  await ctx.ledger.deleteAccountChanges(balances)
}

/** Returns the balance of an account in the ledger, in micro-USD. Throws `not_found`. */
export async function findBalance(ledger: Pick<MoneyReads, 'findBalances'>, account: AccountId): Promise<MicroUsd> {
  const [row] = await ledger.findBalances([account])
  if (row === undefined) throw new AppError('not_found')
  return microUsd(row.balance)
}

const Account = z.string().refine((text): text is AccountId => isId('acc', text), 'an account id must begin with acc_')
const GrantInput = z
  .strictObject({
    wallet: Wallet.optional(),
    account: Account.optional(),
    amountUsd: DollarText,
    /** A grant is booked once for each ticket. */
    ticket: Ticket,
    /** `promo` is our own money, `fiat` is money received from the buyer. */
    source: z.enum(['promo', 'fiat']).default('promo'),
    /** Why. The buyer sees it in the ledger, and the audit keeps it. */
    note: oneLine(500).trim().min(1, 'say why'),
  })
  .refine((input) => (input.wallet === undefined) !== (input.account === undefined), 'name a wallet or an account')

/** A grant as it was booked. Amounts are micro-USD in plain digits. */
export const GrantSchema = z.object({
  account: z.templateLiteral(['acc_', z.string()]),
  amountMicro: MicroDigits,
  balanceMicro: MicroDigits,
  /** True when this ticket was booked before with the same account and amount. */
  isRepeat: z.boolean(),
})
export type Grant = z.infer<typeof GrantSchema>

/**
 * Puts credit on a buyer's account, once for each ticket. Throws `conflict` for a ticket that was booked with another
 * account, amount or source. Throws `not_found` for a wallet or account that does not exist or is no buyer's.
 */
export const grantCredit = defineOperation({
  name: 'credit.grant',
  summary: 'Give credit to a buyer, once for each ticket',
  about: 'The note is the reason. The buyer sees it in the ledger.',
  access: 'operator',
  input: GrantInput,
  limit: 'none',
  idempotency: 'none',
  output: GrantSchema,
  run: async (ctx, _actor, input): Promise<Grant> => {
    const account = input.account ?? (await findUserByWallet(ctx.db, input.wallet ?? ''))?.buyerAccount
    if (account === undefined) throw new AppError('not_found', { message: 'No account has this wallet.' })
    const payer = input.source === 'fiat' ? PLATFORM_ACCOUNTS.externalFiat : PLATFORM_ACCOUNTS.promo
    const entries = [
      { account: payer, amount: -input.amountUsd },
      { account, amount: BigInt(input.amountUsd) },
    ]
    const key = `grant:${input.ticket}`
    const { note } = input
    const grant = async (trx: MoneyTransaction) => {
      const kinds = await trx.findKinds([account])
      if (kinds.get(account) !== 'buyer_credit')
        throw new AppError('not_found', { message: 'No buyer account has this id.' })
      const changed = await postTransaction(trx, { id: ctx.ids.ulid(), key, kind: 'grant', entries, note })
      if (changed === undefined) await requireSameEntries(trx, key, entries)
      return changed
    }
    const after = { granted: formatMicroUsd(input.amountUsd), ticket: input.ticket, reason: note }
    const posted = await ctx.change(
      (trx) => grant(moneyTransaction(trx)),
      (changed) => (changed === undefined ? undefined : { subject: account, before: null, after }),
    )
    if (posted !== undefined) {
      // The outbox row stays when this fails, so a later drain tells the gate.
      await confirmBalances(ctx, posted).catch((error: unknown) =>
        ctx.log.warn({ err: error, account }, 'the gate gets the balance after a grant later'),
      )
    }
    return {
      account,
      amountMicro: formatMicroUsd(input.amountUsd),
      balanceMicro: formatMicroUsd(await findBalance(ctx.ledger, account)),
      isRepeat: posted === undefined,
    }
  },
})

/** Throws `conflict` unless the transaction under the key has exactly these lines. */
export async function requireSameEntries(
  trx: MoneyTransaction,
  key: string,
  lines: readonly LedgerLine[],
): Promise<void> {
  const tx = await trx.findLedgerKey(key)
  const bookedEntries = tx === undefined ? [] : await trx.findEntries(tx)
  const asText = (entries: readonly LedgerLine[]) =>
    mergeLines(entries)
      .map((line) => `${line.account}=${line.amount}`)
      .join()
  if (asText(bookedEntries) !== asText(lines)) {
    throw new AppError('conflict', { message: 'This ticket was booked with another account, amount or source.' })
  }
}
