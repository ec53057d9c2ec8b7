import { sql } from 'kysely'
import type { Database } from './database.ts'
import type { StoredFinding } from './tables/operations.ts'

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
    and id <= (select id from invariant_run order by id desc offset ${keep} limit 1)`.execute(db)
}
