import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { TransactionKind } from '#shared/ledger/transaction-kinds.ts'
import type { Balance } from './accounts.ts'
import { BALANCE_ROW } from './accounts.ts'
import type { Database, Trx } from './database.ts'
import { readRows } from './rows.ts'
import { bigint } from './tables/column.ts'

/** A line of a transaction in signed micro-USD. An account has at most one line in a transaction. */
export type Entry = { readonly tx: string; readonly account: AccountId; readonly amount: bigint }
export type LedgerTransaction = { readonly id: string; readonly kind: TransactionKind; readonly note: string | null }

/** Claims a key for a transaction. Waits for a concurrent transaction. Returns false when the key has a transaction. */
export async function claimLedgerKey(trx: Trx, key: string, tx: string): Promise<boolean> {
  const { numAffectedRows } = await sql`insert into ledger_key (key, tx) values (${key}, ${tx})
    on conflict (key) do nothing`.execute(trx)
  return numAffectedRows === 1n
}

/** The transaction booked under a ledger key. */
export async function findLedgerKey(db: Database | Trx, key: string): Promise<string | undefined> {
  const row = await db.selectFrom('ledger_key').select('tx').where('key', '=', key).executeTakeFirst()
  return row?.tx
}

/** The entries of one transaction, by account id. */
export async function findEntries(db: Database | Trx, tx: string): Promise<Entry[]> {
  return db
    .selectFrom('every_ledger_entry')
    .select(['tx', 'account', 'amount'])
    .where('tx', '=', tx)
    .orderBy('account')
    .execute()
}

/** Writes the heads of transactions. Their entries follow in the same database transaction. */
export async function insertTransactions(trx: Trx, transactions: readonly LedgerTransaction[]): Promise<void> {
  await sql`insert into ledger_tx (id, kind, note) select * from unnest(
    ${transactions.map((row) => row.id)}::text[],
    ${transactions.map((row) => row.kind)}::text[],
    ${transactions.map((row) => row.note)}::text[])`.execute(trx)
}

/** Writes all entries at once. The database refuses transactions whose entries do not sum to zero. */
export async function insertEntries(trx: Trx, entries: readonly Entry[]): Promise<void> {
  await sql`insert into ledger_entry (tx, account, amount) select * from unnest(
    ${entries.map((row) => row.tx)}::text[],
    ${entries.map((row) => row.account)}::text[],
    ${entries.map((row) => row.amount.toString())}::bigint[])`.execute(trx)
}

/** The balance of a summed account, including detached months. */
export async function sumAccount(db: Database | Trx, account: AccountId): Promise<bigint> {
  const rows = await readRows(
    db,
    { total: bigint() },
    sql`select (coalesce((select sum(amount) from ledger_entry where account = ${account}), 0)
      + coalesce((select sum(amount) from carried_total where account = ${account}), 0))::bigint as total`,
  )
  return rows[0]?.total ?? 0n
}

/** The change of one account's balance, and the number of entries behind it. */
export type Movement = { readonly account: string; readonly amount: bigint; readonly entries: number }

/**
 * Changes the balances of accounts locked by `lockAccounts` and writes an outbox row for the gate for each buyer
 * account. Skips summed accounts. Returns the new balances.
 */
export async function moveBalances(trx: Trx, movements: readonly Movement[]): Promise<Balance[]> {
  const rows = await readRows(
    trx,
    BALANCE_ROW,
    sql`
    with moved as (
      update account a set balance = a.balance + m.amount, version = a.version + m.entries
      from unnest(
        ${movements.map((row) => row.account)}::text[],
        ${movements.map((row) => row.amount.toString())}::bigint[],
        ${movements.map((row) => row.entries)}::int[]) as m(account, amount, entries)
      where a.id = m.account and not a.is_summed
      returning a.id, a.kind, a.balance, a.version
    ), announced as (
      insert into account_change (account, balance, version)
      select id, balance, version from moved where kind = 'buyer_credit' order by id
      on conflict (account) do update
        set balance = excluded.balance, version = excluded.version, changed_at = excluded.changed_at
    )
    select id as account, balance, version from moved`,
  )
  return rows
}
