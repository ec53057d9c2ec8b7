import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, boolean, nullable, text } from './tables/column.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'

/** An event that could not be posted. Times are Unix milliseconds. `event` is set only when one row is read. */
const POISON_ROW = {
  payloadHash: SETTLEMENT_TABLES.usage_conflict.payload_hash,
  rid: nullable(text()),
  reason: SETTLEMENT_TABLES.usage_poison.reason,
  detail: SETTLEMENT_TABLES.usage_poison.detail,
  source: SETTLEMENT_TABLES.usage_conflict.source,
  firstSeenAt: SETTLEMENT_TABLES.usage_poison.first_seen_at,
  lastSeenAt: SETTLEMENT_TABLES.usage_poison.last_seen_at,
  timesSeen: SETTLEMENT_TABLES.usage_poison.times_seen,
  resolution: SETTLEMENT_TABLES.usage_poison.resolution,
  resolutionReason: SETTLEMENT_TABLES.usage_conflict.resolution_reason,
  resolvedBy: SETTLEMENT_TABLES.usage_conflict.resolved_by,
  /** True when another delivery has settled the call since. */
  isSettled: boolean(),
}
export type PoisonRow = RowOf<typeof POISON_ROW>

const POISON = sql`p.payload_hash as "payloadHash", p.rid, p.reason, p.detail, p.source, p.first_seen_at as "firstSeenAt",
  p.last_seen_at as "lastSeenAt", p.times_seen as "timesSeen", p.resolution, p.resolution_reason as "resolutionReason",
  p.resolved_by as "resolvedBy", exists (select 1 from settlement s where s.rid = p.rid) as "isSettled"`

type Page = { readonly isWaiting: boolean; readonly limit: number }

/** Poisoned events, oldest first. */
export async function listPoison(db: Database, { isWaiting, limit }: Page): Promise<PoisonRow[]> {
  const rows = await readRows(
    db,
    POISON_ROW,
    sql`select ${POISON} from usage_poison p
    where (not ${isWaiting} or p.resolution is null) order by p.first_seen_at limit ${limit}`,
  )
  return rows
}

export async function findPoison(
  db: Database | Trx,
  payloadHash: string,
): Promise<(PoisonRow & { readonly event: string }) | undefined> {
  const rows = await readRows(
    db,
    { ...POISON_ROW, event: SETTLEMENT_TABLES.usage_poison.event },
    sql`select ${POISON}, p.event from usage_poison p
    where p.payload_hash = ${payloadHash}`,
  )
  return rows[0]
}

type Decision = { readonly payloadHash: string; readonly by: string; readonly reason: string }

/** Stores a decision. Returns false when there is one already. */
export async function resolvePoison(
  db: Database | Trx,
  decision: Decision & { readonly resolution: 'retried' | 'discarded' },
): Promise<boolean> {
  const { numAffectedRows } = await sql`update usage_poison set resolution = ${decision.resolution},
      resolution_reason = ${decision.reason}, resolved_by = ${decision.by}, resolved_at = now()
    where payload_hash = ${decision.payloadHash} and resolution is null`.execute(db)
  return numAffectedRows === 1n
}

/** An event that contradicts a settlement. */
const CONFLICT_ROW = {
  rid: SETTLEMENT_TABLES.usage_conflict.rid,
  payloadHash: SETTLEMENT_TABLES.usage_conflict.payload_hash,
  source: SETTLEMENT_TABLES.usage_conflict.source,
  event: SETTLEMENT_TABLES.usage_conflict.event,
  seenAt: SETTLEMENT_TABLES.usage_conflict.seen_at,
  resolutionReason: SETTLEMENT_TABLES.usage_conflict.resolution_reason,
  resolvedBy: SETTLEMENT_TABLES.usage_conflict.resolved_by,
  /** The charge of the settlement in micro-USD. A conflict does not change it. */
  settledCharge: nullable(bigint()),
}
export type ConflictRow = RowOf<typeof CONFLICT_ROW>

/** Contradicting events, oldest first. */
export async function listConflicts(db: Database, { isWaiting, limit }: Page): Promise<ConflictRow[]> {
  const rows = await readRows(
    db,
    CONFLICT_ROW,
    sql`select c.rid, c.payload_hash as "payloadHash", c.source, c.event,
      c.seen_at as "seenAt", c.resolution_reason as "resolutionReason", c.resolved_by as "resolvedBy",
      (select s.charge from every_settlement s where s.rid = c.rid) as "settledCharge"
    from usage_conflict c where (not ${isWaiting} or c.resolved_at is null) order by c.seen_at limit ${limit}`,
  )
  return rows
}

/** Records that a person reviewed a contradiction. Returns false when none waits. */
export async function resolveConflict(db: Database, decision: Decision & { readonly rid: string }): Promise<boolean> {
  const { numAffectedRows } = await sql`update usage_conflict set resolution_reason = ${decision.reason},
      resolved_by = ${decision.by}, resolved_at = now()
    where rid = ${decision.rid} and payload_hash = ${decision.payloadHash} and resolved_at is null`.execute(db)
  return numAffectedRows === 1n
}
