import { sql } from 'kysely'
import type { Database } from './database.ts'

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
