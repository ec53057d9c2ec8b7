import type { HealthEvent } from '#shared/contract/health-event.ts'
import type { Database } from './database.ts'

export type HealthLogTables = {
  health_log: {
    id: string
    at: Date
    node: string
    offer: string
    model: string
    rid: string | null
    error_class: string | null
    status_code: number | null
    detail: string
    action: string
    backed_off_until: Date | null
  }
}

/** Adds events; one that stands already is passed over. */
export async function insertHealthEvents(db: Database, events: readonly HealthEvent[]): Promise<void> {
  const rows = events.map((event) => ({
    id: event.id,
    at: new Date(event.at),
    node: event.node,
    offer: event.offer,
    model: event.model,
    rid: event.rid,
    error_class: event.errorClass,
    status_code: event.statusCode,
    detail: event.detail,
    action: event.action,
    backed_off_until: event.backedOffUntil === null ? null : new Date(event.backedOffUntil),
  }))
  await db
    .insertInto('health_log')
    .values(rows)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
}
