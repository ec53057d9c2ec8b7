import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { JobMark } from '#shared/contract/job-record.ts'
import type { Database } from './database.ts'
import { JOB_COLUMNS, JOB_ROW } from './jobs.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { nullable, text } from './tables/column.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'

const RID = { rid: SETTLEMENT_TABLES.job.rid }

/** The columns that a mark changes. A deleted job's end is not shown any more. */
const MARKED: Readonly<Record<JobMark['mark'], (at: Date) => RawBuilder<unknown>>> = {
  stopped: (at) => sql`stopped_at = coalesce(stopped_at, ${at})`,
  deleted: (at) => sql`deleted_at = coalesce(deleted_at, ${at}), shown = ''`,
}

/** Records the marks that buyers set on these jobs. Returns the known jobs. */
export async function markJobs(
  db: Database,
  mark: JobMark['mark'],
  rids: readonly string[],
  at: number,
): Promise<ReadonlySet<string>> {
  const rows = await readRows(
    db,
    RID,
    sql`update job set ${MARKED[mark](new Date(at))} where rid = any(${[...rids]}::text[]) returning rid`,
  )
  return new Set(rows.map(({ rid }) => rid))
}

/**
 * A job that callers may still look up. `endEvent` is the event of its booked end. `shown` is null until the end is
 * announced, and empty for an end that is unknown or may not be shown.
 */
const KEPT_JOB_ROW = { ...JOB_ROW, shown: nullable(text()), endEvent: nullable(SETTLEMENT_TABLES.job_end.event) }
export type KeptJob = RowOf<typeof KEPT_JOB_ROW>

const KEPT_JOB = sql`select ${JOB_COLUMNS}, shown,
    (select e.event from job_end e where e.rid = job.rid and e.booked_at is not null) as "endEvent"
  from job`

/** A page of jobs. `deadlineAfter` is Unix milliseconds. */
export type KeptPage = { readonly before: string; readonly deadlineAfter: number; readonly limit: number }

/** Jobs whose deadline is after an instant in Unix milliseconds, the newest before a request id first. */
export async function listKeptJobs(db: Database, { before, deadlineAfter, limit }: KeptPage): Promise<KeptJob[]> {
  const rows = await readRows(
    db,
    KEPT_JOB_ROW,
    sql`${KEPT_JOB} where (shown is not null or told_at is null) and rid < ${before}
      and deadline_at > ${new Date(deadlineAfter)}
    order by rid desc limit ${limit}`,
  )
  return rows
}

export async function findKeptJob(db: Database, rid: string): Promise<KeptJob | undefined> {
  const rows = await readRows(db, KEPT_JOB_ROW, sql`${KEPT_JOB} where rid = ${rid}`)
  return rows[0]
}

/** Jobs whose end no webhook has announced, the longest ended first. */
export async function listKeptUnannounced(db: Database, limit: number): Promise<KeptJob[]> {
  const rows = await readRows(
    db,
    KEPT_JOB_ROW,
    sql`${KEPT_JOB} where ended_at is not null and told_at is null order by ended_at limit ${limit}`,
  )
  return rows
}

/** Clears the shown forms of jobs whose deadline is before an instant, the oldest first. Returns their number. */
export async function forgetShownJobs(db: Database, deadlineBefore: number, limit: number): Promise<number> {
  const { numAffectedRows = 0n } = await sql`update job set shown = null where rid in (
    select rid from job where shown is not null and deadline_at <= ${new Date(deadlineBefore)}
    order by rid limit ${limit})`.execute(db)
  return Number(numAffectedRows)
}
