import type { Database, Trx } from './database.ts'

export type AuditTables = {
  audit_log: {
    id: string
    at: Date
    actor_kind: string
    actor: string
    key_id: string | null
    operation: string
    subject: string | null
    /** JSON texts. */
    before: string | null
    after: string | null
  }
}

/** Who did what to what, and how it looked before and after. `at` is Unix milliseconds. */
export type AuditEntry = {
  readonly id: string
  readonly at: number
  readonly actorKind: string
  readonly actor: string
  readonly keyId: string | null
  readonly operation: string
  readonly subject: string | null
  readonly before: object | null
  readonly after: object | null
}

export async function insertAuditEntries(db: Database | Trx, entries: readonly AuditEntry[]): Promise<void> {
  const rows = entries.map((entry) => ({
    id: entry.id,
    at: new Date(entry.at),
    actor_kind: entry.actorKind,
    actor: entry.actor,
    key_id: entry.keyId,
    operation: entry.operation,
    subject: entry.subject,
    before: entry.before === null ? null : JSON.stringify(entry.before),
    after: entry.after === null ? null : JSON.stringify(entry.after),
  }))
  await db.insertInto('audit_log').values(rows).execute()
}
