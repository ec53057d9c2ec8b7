import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, nullable } from './tables/column.ts'
import { MONTH_VIEWS } from './tables/months.ts'
import { OPERATION_TABLES } from './tables/operations.ts'

/** A transaction that drew on the shortfall (negative) or paid it off, in micro-USD, and its known cause. */
const SHORTFALL_LINE_ROW = {
  tx: MONTH_VIEWS.every_ledger_entry.tx,
  kind: MONTH_VIEWS.every_ledger_tx.kind,
  amount: MONTH_VIEWS.every_ledger_entry.amount,
  at: MONTH_VIEWS.every_ledger_tx.at,
  reason: nullable(OPERATION_TABLES.payout_hold.reason),
  /** The buyer whose balance did not cover the charge. */
  account: nullable(MONTH_VIEWS.every_settlement.account),
}
export type ShortfallLine = RowOf<typeof SHORTFALL_LINE_ROW>

/** The newest lines of the shortfall account. */
export async function listShortfall(db: Database, limit: number): Promise<ShortfallLine[]> {
  const rows = await readRows(
    db,
    SHORTFALL_LINE_ROW,
    sql`select e.tx, t.kind, e.amount, t.at, n.reason, s.account
    from every_ledger_entry e join every_ledger_tx t on t.id = e.tx
    left join shortfall_note n on n.tx = e.tx left join every_settlement s on s.rid = e.tx
    where e.account = 'acc_platform_shortfall' order by e.tx desc limit ${limit}`,
  )
  return rows
}

/** Records the cause of a posting that drew on the shortfall. Returns false when there is no such posting. */
export async function noteShortfall(
  db: Database,
  note: { readonly tx: string; readonly reason: string; readonly by: string },
): Promise<boolean> {
  const { numAffectedRows } = await sql`insert into shortfall_note (tx, reason, noted_by)
    select e.tx, ${note.reason}, ${note.by} from every_ledger_entry e
    where e.tx = ${note.tx} and e.account = 'acc_platform_shortfall'
    on conflict (tx) do update set reason = excluded.reason, noted_by = excluded.noted_by, noted_at = now()`.execute(db)
  return numAffectedRows === 1n
}

/**
 * The part of an account's calls that the shortfall has covered since the restore of the ledger, in micro-USD, less the
 * part that deposits have repaid. 0 without a hold. Payments by wallet have rules of their own, and a job's end repays
 * the part of its submit.
 */
export async function readStoodIn(trx: Trx, account: AccountId): Promise<bigint> {
  const rows = await readRows(
    trx,
    { stoodIn: bigint() },
    sql`select coalesce(-sum(e.amount), 0)::bigint as "stoodIn"
    from money_epoch m join ledger_entry e on e.account = ${PLATFORM_ACCOUNTS.shortfall}
    join ledger_tx t on t.id = e.tx and t.at >= m.restored_to
    where m.held_at is not null and (
      t.kind = 'settle' and exists (select 1 from settlement s where s.rid = t.id and s.account = ${account})
        and not exists (select 1 from chain_payment p where p.rid = t.id)
      or t.kind = 'repaid' and exists (select 1 from ledger_entry own where own.tx = t.id and own.account = ${account}))`,
  )
  return rows[0]?.stoodIn ?? 0n
}
