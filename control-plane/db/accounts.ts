import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import { ACCOUNT_KINDS } from '#shared/ledger/account-kinds.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { ACCOUNT_TABLES } from './tables/accounts.ts'
import { bigint } from './tables/column.ts'

/** A stored balance in micro-USD with its version. */
export const BALANCE_ROW = {
  account: ACCOUNT_TABLES.account.id,
  balance: bigint(),
  version: bigint(),
}
export type Balance = RowOf<typeof BALANCE_ROW>

/** Opens an account with a balance of 0. */
export async function openAccount(
  trx: Trx,
  account: { readonly id: AccountId; readonly kind: AccountKind; readonly owner: string | null },
): Promise<void> {
  await trx.insertInto('account').values(account).execute()
}

/** The balances of the existing accounts among the given ones, in no order. */
export async function findBalances(db: Database | Trx, accounts: readonly string[]): Promise<Balance[]> {
  const rows = await readRows(
    db,
    BALANCE_ROW,
    sql`select id as account, balance, version from account
    where id = any(${[...accounts]}::text[])`,
  )
  return rows
}

/** Buyer accounts with a balance above zero and an id above `after`, by id. The gate is seeded with them. */
export async function listFundedAccounts(db: Database | Trx, after: string, limit: number): Promise<Balance[]> {
  const rows = await readRows(
    db,
    BALANCE_ROW,
    sql`select id as account, balance, version from account
    where kind = 'buyer_credit' and balance > 0 and id > ${after} order by id limit ${limit}`,
  )
  return rows
}

/** The kinds of account whose money belongs to buyers or to sellers. */
const kindsOf = (side: 'buyer' | 'seller') =>
  Object.entries(ACCOUNT_KINDS).flatMap(([kind, rule]) => (rule.side === side ? [kind] : []))

/** The money of all buyers and of all sellers that the market keeps, in micro-USD. */
export async function sumOwed(db: Database): Promise<{ readonly buyer: bigint; readonly seller: bigint }> {
  const sumOf = (side: 'buyer' | 'seller') =>
    sql`coalesce(sum(balance) filter (where kind = any(${kindsOf(side)}::text[])), 0)::bigint`
  const [sums = { buyer: 0n, seller: 0n }] = await readRows(
    db,
    { buyer: bigint(), seller: bigint() },
    sql`select ${sumOf('buyer')} as buyer, ${sumOf('seller')} as seller from account
      where owner is not null and balance > 0`,
  )
  return sums
}

/** The kinds of the existing accounts among the given ones. */
export async function findKinds(db: Database | Trx, accounts: readonly string[]): Promise<Map<string, AccountKind>> {
  const rows = await readRows(
    db,
    { id: ACCOUNT_TABLES.account.id, kind: ACCOUNT_TABLES.account.kind },
    sql`select id, kind from account
    where id = any(${[...accounts]}::text[])`,
  )
  return new Map(rows.map((row) => [row.id, row.kind]))
}

/**
 * Locks accounts in the order of their ids, so that two posters never wait for each other. The shortfall comes last,
 * because a poster learns only after the other locks whether it needs the shortfall.
 */
export async function lockAccounts(trx: Trx, accounts: readonly string[]): Promise<Map<string, Balance>> {
  const rows = await readRows(
    trx,
    BALANCE_ROW,
    sql`select id as account, balance, version from account
    where id = any(${[...accounts]}::text[]) order by kind = 'platform_shortfall', id for no key update`,
  )
  return new Map(rows.map((row) => [row.account, row]))
}

/** Changes that the gate has not confirmed, oldest first. */
export async function listAccountChanges(db: Database, limit: number): Promise<Balance[]> {
  const rows = await readRows(
    db,
    BALANCE_ROW,
    sql`select account, balance, version from account_change
    order by changed_at limit ${limit}`,
  )
  return rows
}

/**
 * Deletes changes that the gate has confirmed, unless a newer one replaced them. Skips a row that another transaction
 * is writing, because it is about to be newer.
 */
export async function deleteAccountChanges(db: Database, confirmed: readonly Balance[]): Promise<void> {
  if (confirmed.length === 0) return
  const accounts = confirmed.map((change) => change.account)
  const versions = confirmed.map((change) => change.version.toString())
  await sql`delete from account_change where account in (
    select c.account from account_change c
    join unnest(${accounts}::text[], ${versions}::bigint[]) as done(account, version) on c.account = done.account
    where c.version <= done.version order by c.account for update of c skip locked)`.execute(db)
}
