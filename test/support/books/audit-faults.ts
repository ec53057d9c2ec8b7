import { sql } from 'kysely'
import type { Database } from '#control-plane/db/database.ts'

/** Faults of the database in a transaction that writes an audit row. */
const FAULTS = {
  'refuses the row': ['', "raise exception 'no audit rows today'"],
  'refuses the row at the commit': ['deferrable initially deferred', "raise exception 'no audit rows today'"],
  'ends the connection at the commit': [
    'deferrable initially deferred',
    'perform pg_terminate_backend(pg_backend_pid())',
  ],
  'answers the commit late': ['deferrable initially deferred', 'perform pg_sleep(0.3)'],
} as const
export type AuditFault = keyof typeof FAULTS

/** The rows that a fault hits: all, or only the rows of a completed change and not those of a debit's request. */
type Hit = 'all' | 'made'
const HIT = { all: 'true', made: "coalesce(new.after ->> 'state', '') <> 'intended'" } as const

/** Runs `run` while the database has a fault, and ends the fault. */
export async function withAuditFault<Result>(
  db: Database,
  { fault, hits = 'all' }: { readonly fault: AuditFault; readonly hits?: Hit },
  run: () => Promise<Result>,
): Promise<Result> {
  const [when, what] = FAULTS[fault]
  const execute = (text: string) => sql.raw(text).execute(db)
  await execute(`create or replace function audit_fault() returns trigger language plpgsql
    as $$ begin ${what}; return null; end $$`)
  await execute(`create constraint trigger audit_fault after insert on audit_log ${when}
    for each row when (${HIT[hits]}) execute function audit_fault()`)
  try {
    return await run()
  } finally {
    await execute('drop trigger audit_fault on audit_log')
  }
}
