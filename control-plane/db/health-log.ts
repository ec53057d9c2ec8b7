import { sql } from 'kysely'
import type { HealthEvent } from '#shared/contract/health-event.ts'
import { ERROR_CLASSES } from '#shared/contract/health-event.ts'
import type { AccountId } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { nullable, oneOf, text } from './tables/column.ts'
import type { HealthAction } from './tables/offers.ts'
import { OFFER_TABLES } from './tables/offers.ts'
import { RESOURCE_TABLES } from './tables/resources.ts'

type NewHealthEvent = Omit<HealthEvent, 'v' | 'action'> & { readonly action: HealthAction }

/** Adds events with the sellers of their offers. An event that is stored already is skipped. */
export async function insertHealthEvents(db: Database, events: readonly NewHealthEvent[]): Promise<void> {
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
  await sql`insert into health_log (id, at, node, offer, model, rid, error_class, status_code, detail, action,
      backed_off_until, seller_account)
    select e.id, e.at, e.node, e.offer, e.model, e.rid, e.error_class, e.status_code, e.detail, e.action,
      e.backed_off_until, o.seller_account
    from jsonb_populate_recordset(null::health_log, ${JSON.stringify(rows)}::jsonb) e
    left join every_offer o on o.id = e.offer
    on conflict (id) do nothing`.execute(db)
}

const HEALTH_LOG_ROW = {
  id: text(),
  at: OFFER_TABLES.health_log.at,
  offer: OFFER_TABLES.health_log.offer,
  model: OFFER_TABLES.health_log.model,
  /** The contract bounds the value, not the table. */
  errorClass: nullable(oneOf(ERROR_CLASSES)),
  statusCode: OFFER_TABLES.health_log.status_code,
  detail: OFFER_TABLES.health_log.detail,
  action: OFFER_TABLES.health_log.action,
  backedOffUntil: OFFER_TABLES.health_log.backed_off_until,
}
export type HealthLogRow = RowOf<typeof HEALTH_LOG_ROW>

/** True for the seller's own offer, of a model or of a lent key. */
export async function isOfferOf(db: Database, seller: AccountId, id: string): Promise<boolean> {
  const rows = await readRows(
    db,
    { id: RESOURCE_TABLES.every_offer.id },
    sql`select id from every_offer where id = ${id} and seller_account = ${seller}`,
  )
  return rows.length > 0
}

export type HealthFilter = {
  readonly seller: AccountId
  readonly offer: string | undefined
  /** Unix milliseconds, both included. */
  readonly since: number | undefined
  readonly until: number | undefined
  /** The last line on the page before. */
  readonly after: { readonly at: Date; readonly id: string } | undefined
  /** True lists the oldest first. */
  readonly isRising: boolean
}

/** Lines of a seller's health log, sorted by time. */
export async function listHealthEvents(db: Database, filter: HealthFilter, limit: number): Promise<HealthLogRow[]> {
  const { seller, offer, since, until, after, isRising } = filter
  const conditions = [
    sql`seller_account = ${seller}`,
    ...(offer === undefined ? [] : [sql`offer = ${offer}`]),
    ...(since === undefined ? [] : [sql`at >= ${new Date(since)}`]),
    ...(until === undefined ? [] : [sql`at <= ${new Date(until)}`]),
    ...(after === undefined ? [] : [sql`(at, id) ${isRising ? sql`>` : sql`<`} (${after.at}, ${after.id})`]),
  ]
  const order = isRising ? sql`at, id` : sql`at desc, id desc`
  const rows = await readRows(
    db,
    HEALTH_LOG_ROW,
    sql`select id, at, offer, model, error_class as "errorClass",
      status_code as "statusCode", detail, action, backed_off_until as "backedOffUntil"
    from health_log where ${sql.join(conditions, sql` and `)} order by ${order} limit ${limit}`,
  )
  return rows
}

/** Removes lines from before an instant (Unix milliseconds), at most `limit`. Returns their number. */
export async function deleteOldHealthEvents(db: Database, before: number, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`delete from health_log where id in
    (select id from health_log where at < ${new Date(before)} order by at limit ${limit})`.execute(db)
  return Number(numAffectedRows ?? 0n)
}
