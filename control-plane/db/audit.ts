import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { ACCOUNT_TABLES } from './tables/accounts.ts'
import { nullable } from './tables/column.ts'
import type { AuditNote } from './tables/operations.ts'
import { OPERATION_TABLES } from './tables/operations.ts'

/** An audited change. `at` is Unix milliseconds. */
export type AuditEntry = AuditNote & { readonly id: string; readonly at: number }

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
    organization: entry.organization,
  }))
  await db.insertInto('audit_log').values(rows).execute()
}

/**
 * The log to read: that of an organisation, that of a user outside of organisations, or every entry, which only
 * operators read.
 */
export type AuditOwner = { readonly organization: string } | { readonly user: string } | { readonly everybody: true }

/** Filters of a log. Times are Unix milliseconds, and `until` is excluded. */
export type AuditFilter = {
  readonly owner: AuditOwner
  readonly operation?: string | undefined
  readonly subject?: string | undefined
  readonly actor?: string | undefined
  readonly since?: number | undefined
  readonly until?: number | undefined
}

/** An audit entry from the table. `before` and `after` are JSON. */
const AUDIT_ROW = {
  id: OPERATION_TABLES.audit_log.id,
  at: OPERATION_TABLES.audit_log.at,
  actorKind: OPERATION_TABLES.audit_log.actor_kind,
  actor: OPERATION_TABLES.audit_log.actor,
  /** The actor's wallet, when the actor is a user. */
  wallet: nullable(ACCOUNT_TABLES.app_user.wallet),
  keyId: OPERATION_TABLES.audit_log.key_id,
  operation: OPERATION_TABLES.audit_log.operation,
  subject: OPERATION_TABLES.audit_log.subject,
  before: OPERATION_TABLES.audit_log.before,
  after: OPERATION_TABLES.audit_log.after,
}
export type AuditRow = RowOf<typeof AUDIT_ROW>

type AuditPage = {
  /** The page begins after this id; undefined begins at the first entry in the given order. */
  readonly beyond?: string | undefined
  readonly order: 'newest' | 'oldest'
  readonly limit: number
}

/** A page of a log by id, which is the order of time. */
export async function listAuditEntries(
  db: Database | Trx,
  filter: AuditFilter,
  { beyond, order, limit }: AuditPage,
): Promise<AuditRow[]> {
  const { owner, operation, subject, actor, since, until } = filter
  const isNewest = order === 'newest'
  const conditions = [
    ownedBy(owner),
    operation === undefined ? undefined : sql`a.operation = ${operation}`,
    subject === undefined ? undefined : sql`a.subject = ${subject}`,
    actor === undefined ? undefined : sql`a.actor = ${actor}`,
    since === undefined ? undefined : sql`a.at >= ${new Date(since)}`,
    until === undefined ? undefined : sql`a.at < ${new Date(until)}`,
    beyond === undefined ? undefined : isNewest ? sql`a.id < ${beyond}` : sql`a.id > ${beyond}`,
  ].filter((condition) => condition !== undefined)
  const rows = await readRows(
    db,
    AUDIT_ROW,
    sql`select a.id, a.at, a.actor_kind as "actorKind", a.actor, u.wallet,
      a.key_id as "keyId", a.operation, a.subject, a.before, a.after
    from audit_log a left join app_user u on u.id = a.actor
    where ${sql.join(conditions, sql` and `)}
    order by a.id ${isNewest ? sql`desc` : sql`asc`} limit ${limit}`,
  )
  return rows
}

function ownedBy(owner: AuditOwner) {
  if ('everybody' in owner) return sql`true`
  if ('user' in owner) return sql`a.actor = ${owner.user} and a.organization is null`
  return sql`a.organization = ${owner.organization}`
}
