import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import type { Database } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { json, nullable, text } from './tables/column.ts'
import { LEDGER_TABLES } from './tables/ledger.ts'

/** A line of a found transaction: signed micro-USD as digits. */
type FoundLine = { readonly account: string; readonly kind: AccountKind; readonly amount: string }

/** A transaction with all its lines. The key is null for a call, whose request id is its transaction's id. */
const FOUND_ROW = {
  id: LEDGER_TABLES.ledger_tx.id,
  kind: LEDGER_TABLES.ledger_tx.kind,
  note: LEDGER_TABLES.ledger_tx.note,
  at: LEDGER_TABLES.ledger_tx.at,
  key: nullable(LEDGER_TABLES.ledger_key.key),
  lines: json<readonly FoundLine[]>(),
  /** The time of the transaction in Unix microseconds, as digits: many are booked within a millisecond. */
  micros: text(),
}
export type FoundTransaction = RowOf<typeof FOUND_ROW>

/** Conditions of a search. Times are Unix milliseconds, `to` excluded. `reference` is a ledger key, or an id. */
export type LedgerSearch = {
  readonly account?: string | undefined
  readonly kind?: string | undefined
  readonly reference?: string | undefined
  readonly from?: number | undefined
  readonly to?: number | undefined
}

/** The last transaction of a page: its time in Unix microseconds, and its id. */
export type LedgerPlace = { readonly micros: string; readonly id: string }

/**
 * Transactions that fit a search, in the order of their booking, newest first, and before a place if one is given. The
 * order of ids differs, because an id has the time of the admission. Transactions of detached months are included.
 */
export function searchTransactions(
  db: Database,
  search: LedgerSearch,
  page: { readonly before: LedgerPlace | undefined; readonly limit: number },
): Promise<FoundTransaction[]> {
  const id = search.account === undefined ? sql.ref('t.id') : sql.ref('e.tx')
  return readRows(
    db,
    FOUND_ROW,
    sql`select found.id, found.kind, found.note, found.at, k.key,
      (extract(epoch from found.at) * 1000000)::bigint::text as micros,
      (select jsonb_agg(jsonb_build_object('account', l.account, 'kind', a.kind, 'amount', l.amount::text)
          order by l.amount, l.account)
        from every_ledger_entry l join account a on a.id = l.account where l.tx = found.id) as lines
    from (
      select t.id, t.kind, t.note, t.at from ${tableOf(search)}
      where ${sql.join(conditionsOf(search, id, page.before), sql` and `)}
      order by t.at desc, t.id desc limit ${page.limit}) found
    left join ledger_key k on k.tx = found.id order by found.at desc, found.id desc`,
  )
}

function tableOf({ account }: LedgerSearch): RawBuilder<unknown> {
  return account === undefined
    ? sql`every_ledger_tx t`
    : sql`every_ledger_entry e join every_ledger_tx t on t.id = e.tx`
}

function conditionsOf(
  { account, kind, reference, from, to }: LedgerSearch,
  id: RawBuilder<unknown>,
  before: LedgerPlace | undefined,
): RawBuilder<unknown>[] {
  return [
    sql`true`,
    ...(account === undefined ? [] : [sql`e.account = ${account}`]),
    ...(kind === undefined ? [] : [sql`t.kind = ${kind}`]),
    // The partial index of kinds has this condition.
    ...(kind === undefined || kind === 'settle' ? [] : [sql`t.kind <> 'settle'`]),
    ...(reference === undefined
      ? []
      : [sql`${id} = coalesce((select tx from ledger_key where key = ${reference}), ${reference})`]),
    ...(from === undefined ? [] : [sql`t.at >= ${new Date(from)}`]),
    ...(to === undefined ? [] : [sql`t.at < ${new Date(to)}`]),
    ...(before === undefined
      ? []
      : [
          sql`(t.at, t.id) < ('epoch'::timestamptz + ${before.micros}::float8 * interval '1 microsecond', ${before.id})`,
        ]),
  ]
}
