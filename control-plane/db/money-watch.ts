import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { PLATFORM_ACCOUNTS } from '#shared/ledger/account-kinds.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, nullable } from './tables/column.ts'
import { MONTH_VIEWS } from './tables/months.ts'
import type { StoredFinding } from './tables/operations.ts'
import { OPERATION_TABLES } from './tables/operations.ts'

/** A run of the checker. `startedAt` is Unix milliseconds. */
export type InvariantRun = {
  readonly id: string
  readonly startedAt: number
  readonly tookMs: number
  readonly findings: readonly StoredFinding[]
  readonly breaches: readonly string[]
  readonly failure: string | null
}

export async function insertInvariantRun(db: Database, run: InvariantRun): Promise<void> {
  await sql`insert into invariant_run (id, started_at, took_ms, findings, breaches, failure)
    values (${run.id}, ${new Date(run.startedAt)}, ${run.tookMs}, ${JSON.stringify(run.findings)}::jsonb,
      ${[...run.breaches]}::text[], ${run.failure})`.execute(db)
}

/** The newest runs, newest first. */
export async function listInvariantRuns(db: Database, limit: number): Promise<InvariantRun[]> {
  const rows = await db.selectFrom('invariant_run').selectAll().orderBy('id', 'desc').limit(limit).execute()
  return rows.map(({ started_at, took_ms, ...rest }) => ({ ...rest, startedAt: started_at.getTime(), tookMs: took_ms }))
}

/** Deletes runs without a breach, but keeps the newest `keep` runs. */
export async function trimInvariantRuns(db: Database, keep: number): Promise<void> {
  await sql`delete from invariant_run where breaches = '{}'
    and id < (select id from invariant_run order by id desc offset ${keep} limit 1)`.execute(db)
}

/** Adds a hold on payouts for a reason, unless one is in force. Returns true when it is new. */
export async function setPayoutHold(db: Database, id: string, reason: string): Promise<boolean> {
  const { numAffectedRows } = await sql`insert into payout_hold (id, reason) values (${id}, ${reason})
    on conflict (reason) where cleared_at is null do nothing`.execute(db)
  return numAffectedRows === 1n
}

/** Times are Unix milliseconds. */
export type PayoutHold = {
  readonly id: string
  readonly reason: string
  readonly setAt: number
  readonly clearedAt: number | null
  readonly clearedBy: string | null
  readonly clearReason: string | null
}

/** Payout holds, newest first. */
export async function listPayoutHolds(db: Database, isInForce: boolean, limit: number): Promise<PayoutHold[]> {
  let query = db.selectFrom('payout_hold').selectAll()
  if (isInForce) query = query.where('cleared_at', 'is', null)
  const rows = await query.orderBy('id', 'desc').limit(limit).execute()
  return rows.map((row) => ({
    id: row.id,
    reason: row.reason,
    setAt: row.set_at.getTime(),
    clearedAt: row.cleared_at?.getTime() ?? null,
    clearedBy: row.cleared_by,
    clearReason: row.clear_reason,
  }))
}

/** Clears a hold on payouts. Returns false when no such hold is in force. */
export async function clearPayoutHold(
  db: Database,
  hold: { readonly id: string; readonly by: string; readonly reason: string },
): Promise<boolean> {
  const { numAffectedRows } = await sql`update payout_hold
    set cleared_at = now(), cleared_by = ${hold.by}, clear_reason = ${hold.reason}
    where id = ${hold.id} and cleared_at is null`.execute(db)
  return numAffectedRows === 1n
}

/** Clears the present hold for a reason that is gone. Returns false when there is none. */
export async function liftPayoutHold(db: Database, reason: string): Promise<boolean> {
  const { numAffectedRows } = await sql`update payout_hold
    set cleared_at = now(), cleared_by = 'worker', clear_reason = 'what it was set for is gone'
    where reason = ${reason} and cleared_at is null`.execute(db)
  return numAffectedRows === 1n
}

/** A difference that a comparison found. */
export type Difference = { readonly subject: string; readonly detail: string }

/** Stores the differences that a comparison found, and marks the differences that it no longer finds as gone. */
export async function replaceFindings(db: Database, kind: string, differences: readonly Difference[]): Promise<void> {
  const subjects = differences.map((row) => row.subject)
  await sql`update money_finding set gone_at = now()
    where kind = ${kind} and gone_at is null and not subject = any(${subjects}::text[])`.execute(db)
  if (differences.length === 0) return
  await sql`insert into money_finding as known (kind, subject, detail)
    select ${kind}, subject, detail from unnest(${subjects}::text[],
      ${differences.map((row) => row.detail)}::text[]) as given(subject, detail) order by subject
    on conflict (kind, subject) do update set detail = excluded.detail, last_seen_at = now(),
      times_seen = known.times_seen + 1, gone_at = null`.execute(db)
}

/** A difference that the latest comparison still finds. Times are Unix milliseconds. */
export type OpenDifference = Difference & {
  readonly kind: string
  readonly firstSeenAt: number
  readonly timesSeen: number
}

export async function listFindings(db: Database, limit: number): Promise<OpenDifference[]> {
  const rows = await db
    .selectFrom('money_finding')
    .selectAll()
    .where('gone_at', 'is', null)
    .orderBy('first_seen_at')
    .limit(limit)
    .execute()
  return rows.map((row) => ({
    kind: row.kind,
    subject: row.subject,
    detail: row.detail,
    firstSeenAt: row.first_seen_at.getTime(),
    timesSeen: row.times_seen,
  }))
}

/** Counts the work that waits for a person or a sweep, and the shortfall in micro-USD. */
export async function countBacklog(db: Database): Promise<{
  readonly poisoned: number
  readonly conflicts: number
  readonly unfinishedDebits: number
  readonly parkedEnds: number
  readonly payoutHolds: number
  /** Payments by wallet that are due or mined and had no step for a minute. */
  readonly hangingPayments: number
  /** Wallets that owe for calls that they never paid. */
  readonly debtors: number
  readonly shortfallMicro: bigint
}> {
  const rows = await readRows(
    db,
    {
      poisoned: bigint(),
      conflicts: bigint(),
      debits: bigint(),
      ends: bigint(),
      holds: bigint(),
      hanging: bigint(),
      debtors: bigint(),
      shortfall: nullable(bigint()),
    },
    sql`select
    (select count(*) from usage_poison where resolution is null) as poisoned,
    (select count(*) from usage_conflict where resolved_at is null) as conflicts,
    (select count(*) from ledger_debit where state = 'intended' or not is_freed) as debits,
    (select count(*) from job_end where booked_at is null) as ends,
    (select count(*) from payout_hold where cleared_at is null) as holds,
    (select count(*) from chain_payment where state in ('due', 'mined') and changed_at < now() - interval '1 minute') as hanging,
    (select count(distinct payer) from chain_payment where state = 'written_off' and cleared_at is null) as debtors,
    (select -balance from account where kind = 'platform_shortfall') as shortfall`,
  )
  const [row] = rows
  return {
    poisoned: Number(row?.poisoned ?? 0n),
    conflicts: Number(row?.conflicts ?? 0n),
    unfinishedDebits: Number(row?.debits ?? 0n),
    parkedEnds: Number(row?.ends ?? 0n),
    payoutHolds: Number(row?.holds ?? 0n),
    hangingPayments: Number(row?.hanging ?? 0n),
    debtors: Number(row?.debtors ?? 0n),
    shortfallMicro: row?.shortfall ?? 0n,
  }
}

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
