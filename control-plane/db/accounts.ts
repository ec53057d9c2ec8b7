import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { ACCOUNT_TABLES } from './tables/accounts.ts'
import { bigint } from './tables/column.ts'

/** A materialised balance in micro-USD with its version. */
export const BALANCE_ROW = {
  account: ACCOUNT_TABLES.account.id,
  balance: bigint(),
  version: bigint(),
}
export type Balance = RowOf<typeof BALANCE_ROW>

/** Opens an account with balance 0. */
export async function openAccount(
  trx: Trx,
  account: { readonly id: AccountId; readonly kind: AccountKind; readonly owner: string | null },
): Promise<void> {
  await trx.insertInto('account').values(account).execute()
}

/** The balances of the accounts that exist, in no order. */
export async function findBalances(db: Database | Trx, accounts: readonly string[]): Promise<Balance[]> {
  const rows = await readRows(
    db,
    BALANCE_ROW,
    sql`select id as account, balance, version from account
    where id = any(${[...accounts]}::text[])`,
  )
  return rows
}

/** Buyer accounts with a balance above zero, in order of id from after `after`: what the gate is seeded with. */
export async function listFundedAccounts(db: Database | Trx, after: string, limit: number): Promise<Balance[]> {
  const rows = await readRows(
    db,
    BALANCE_ROW,
    sql`select id as account, balance, version from account
    where kind = 'buyer_credit' and balance > 0 and id > ${after} order by id limit ${limit}`,
  )
  return rows
}

/** The kinds of the accounts that exist. */
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
 * Locks accounts in the order of their ids, which is what keeps two posters from waiting for each other; the shortfall
 * comes last, because whether it is needed shows only when the others are locked.
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

/** Changes not yet confirmed by the gate, oldest first. */
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
 * Forgets changes that the gate has confirmed, unless a newer one took their place. A row that somebody is just writing
 * is passed over: it is about to be newer.
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
