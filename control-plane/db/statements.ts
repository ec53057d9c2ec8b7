import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CHAIN_PAYMENT_TABLES } from './tables/chain-payments.ts'
import { bigint, nullable, text } from './tables/column.ts'
import { MONTH_VIEWS } from './tables/months.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'

/**
 * A line of an account's ledger in signed micro-USD, with the balance after it. The other columns are those of its
 * call.
 */
const STATEMENT_ROW = {
  id: text(),
  kind: MONTH_VIEWS.every_ledger_tx.kind,
  note: MONTH_VIEWS.every_ledger_tx.note,
  amount: MONTH_VIEWS.every_ledger_entry.amount,
  balance: bigint(),
  model: nullable(SETTLEMENT_TABLES.settlement.model),
  provider: SETTLEMENT_TABLES.settlement.provider,
  keyId: SETTLEMENT_TABLES.settlement.key_id,
  transaction: CHAIN_PAYMENT_TABLES.chain_payment.tx_hash,
}
export type StatementRow = RowOf<typeof STATEMENT_ROW>

export type StatementQuery = {
  readonly account: AccountId
  /** Unix milliseconds. Selects lines from `from` (included) to `to` (excluded). */
  readonly from: number
  readonly to: number
  /** Selects only lines of this kind. */
  readonly kind: string | undefined
  /** Selects only lines before this transaction id. */
  readonly before: string | undefined
  readonly limit: number
}

/**
 * Lines of an account, newest first. The balance after a line is the present balance less all newer lines of any kind,
 * so the running sum ignores the filter by kind. One statement reads balance and lines, so all pages add up. A call
 * that is booked late appears at the time of its admission and changes the balances after it.
 */
export async function listStatementLines(db: Trx, query: StatementQuery): Promise<StatementRow[]> {
  const { account, from, to, kind, before, limit } = query
  const end = ulidFloor(to)
  const ends = before !== undefined && before < end ? before : end
  const rows = await readRows(
    db,
    STATEMENT_ROW,
    sql`
    with chosen as (
      select e.tx from every_ledger_entry e ${ofKind(kind)}
      where e.account = ${account} and e.tx >= ${ulidFloor(from)} and e.tx < ${ends}
      order by e.tx desc limit ${limit}
    ), lines as (
      select tx, amount, coalesce(sum(amount) over (order by tx desc
        rows between unbounded preceding and 1 preceding), 0) as "amountAfter"
      from every_ledger_entry
      where account = ${account} and tx >= (select min(tx) from chosen) and tx < ${ends}
    ), newer as (
      select coalesce(sum(amount), 0)::bigint as total from every_ledger_entry
      where account = ${account} and tx >= ${ends}
    )
    select l.tx as id, t.kind, t.note, l.amount,
      (a.balance - newer.total - l."amountAfter")::bigint as balance,
      s.model, s.provider, s.key_id as "keyId", p.tx_hash as "transaction"
    from lines l join chosen on chosen.tx = l.tx
    cross join newer
    join account a on a.id = ${account}
    join every_ledger_tx t on t.id = l.tx
    left join settlement s on s.rid = l.tx and s.account = ${account}
    left join chain_payment p on p.rid = l.tx and p.account = ${account}
    order by l.tx desc`,
  )
  return rows
}

function ofKind(kind: string | undefined) {
  return kind === undefined ? sql`` : sql`join every_ledger_tx k on k.id = e.tx and k.kind = ${kind}`
}

/** A span in Unix milliseconds: from an instant (included) to another (excluded). */
type Span = Pick<StatementQuery, 'from' | 'to'>

/** The sums of an account's lines in each span that has some, by the beginning of the span, in signed micro-USD. */
export async function sumStatementSpans(
  db: Trx,
  { account, kind }: Pick<StatementQuery, 'account' | 'kind'>,
  spans: readonly Span[],
): Promise<ReadonlyMap<number, bigint>> {
  const begins = spans.map(({ from }) => ulidFloor(from))
  const ends = spans.map(({ to }) => ulidFloor(to))
  const rows = await readRows(
    db,
    { begin: text(), total: bigint() },
    sql`select d.begin, sum(e.amount)::bigint as total
      from unnest(${begins}::text[], ${ends}::text[]) as d (begin, finish)
      join every_ledger_entry e on e.account = ${account} and e.tx >= d.begin and e.tx < d.finish ${ofKind(kind)}
      group by d.begin`,
  )
  const totals = new Map(rows.map(({ begin, total }) => [begin, total]))
  return new Map(spans.map(({ from }, at) => [from, totals.get(begins[at] ?? '') ?? 0n]))
}

/** The sum of an account's lines before an instant in Unix milliseconds, in signed micro-USD. */
export async function sumLinesBefore(db: Database, account: AccountId, at: number): Promise<bigint> {
  const rows = await readRows(
    db,
    { total: bigint() },
    sql`select coalesce(sum(amount), 0)::bigint as total from every_ledger_entry
      where account = ${account} and tx < ${ulidFloor(at)}`,
  )
  return rows[0]?.total ?? 0n
}

/** A line of a month's file. `rid` is the id of its transaction, which for a call is its request id. */
const MONTH_LINE_ROW = {
  rid: text(),
  kind: MONTH_VIEWS.every_ledger_tx.kind,
  note: MONTH_VIEWS.every_ledger_tx.note,
  amount: MONTH_VIEWS.every_ledger_entry.amount,
  model: nullable(SETTLEMENT_TABLES.settlement.model),
  keyId: SETTLEMENT_TABLES.settlement.key_id,
}
export type MonthLine = RowOf<typeof MONTH_LINE_ROW>

/** Lines of an account from an instant (included) to another (excluded), oldest first, after a transaction id. */
export function listLinesAfter(
  db: Database,
  { account, from, to }: Pick<StatementQuery, 'account' | 'from' | 'to'>,
  page: { readonly after: string; readonly limit: number },
): Promise<MonthLine[]> {
  return readRows(
    db,
    MONTH_LINE_ROW,
    sql`with lines as (
        select tx, amount from every_ledger_entry
        where account = ${account} and tx >= ${ulidFloor(from)} and tx < ${ulidFloor(to)} and tx > ${page.after}
        order by tx limit ${page.limit}
      )
      select l.tx as rid, t.kind, t.note, l.amount, s.model, s.key_id as "keyId"
      from lines l join every_ledger_tx t on t.id = l.tx
      left join settlement s on s.rid = l.tx and s.account = ${account}
      order by l.tx`,
  )
}
