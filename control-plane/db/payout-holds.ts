import { sql } from 'kysely'
import type { Database } from './database.ts'

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
    set cleared_at = now(), cleared_by = 'worker', clear_reason = 'the reason for the hold is gone'
    where reason = ${reason} and cleared_at is null`.execute(db)
  return numAffectedRows === 1n
}
