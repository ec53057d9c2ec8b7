import { sql } from 'kysely'
import type { DeliveryId, WebhookId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { oneOf } from './tables/column.ts'
import type { DeliveryStatus } from './tables/webhooks.ts'
import { WEBHOOK_FORMATS, WEBHOOK_TABLES } from './tables/webhooks.ts'

/** A delivery as its owner sees it. */
export type DeliveryRow = {
  readonly id: DeliveryId
  readonly event: string
  readonly body: string
  readonly status: DeliveryStatus
  readonly attempts: number
  readonly statusCode: number | null
  readonly error: string | null
  readonly createdAt: Date
  readonly attemptedAt: Date | null
  readonly deliveredAt: Date | null
}

const COLUMNS = [
  'id',
  'event',
  'body',
  'status',
  'attempts',
  'status_code as statusCode',
  'error',
  'created_at as createdAt',
  'attempted_at as attemptedAt',
  'delivered_at as deliveredAt',
] as const

export type NewDelivery = {
  readonly id: DeliveryId
  readonly webhook: WebhookId
  readonly event: string
  readonly body: string
  /** Unix milliseconds. */
  readonly at: number
  /**
   * True when the process that stores the delivery sends it at once. A worker takes it only after that attempt has
   * failed.
   */
  readonly isBeingTried: boolean
}

export async function insertDelivery(db: Database | Trx, delivery: NewDelivery): Promise<void> {
  const { id, webhook, event, body, at, isBeingTried } = delivery
  const attempted_at = isBeingTried ? new Date(at) : null
  await db
    .insertInto('webhook_delivery')
    .values({
      id,
      event,
      body,
      webhook_id: webhook,
      status: 'pending',
      created_at: new Date(at),
      status_code: null,
      error: null,
      attempted_at,
      delivered_at: null,
    })
    .execute()
}

/** Deliveries of a webhook, newest first, before an id if one is given. */
export async function listDeliveries(
  db: Database,
  webhook: WebhookId,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<DeliveryRow[]> {
  let query = db.selectFrom('webhook_delivery').select(COLUMNS).where('webhook_id', '=', webhook)
  if (page.before !== undefined) query = query.where(sql<string>`id`, '<', page.before)
  return query.orderBy('id', 'desc').limit(page.limit).execute()
}

export async function findDelivery(db: Database, id: DeliveryId): Promise<DeliveryRow | undefined> {
  return db.selectFrom('webhook_delivery').select(COLUMNS).where('id', '=', id).executeTakeFirst()
}

/** The columns that sending needs. The secrets are JSON; the caller parses them with their schema. */
const SENDABLE_DELIVERY_ROW = {
  event: WEBHOOK_TABLES.webhook_delivery.event,
  body: WEBHOOK_TABLES.webhook_delivery.body,
  status: WEBHOOK_TABLES.webhook_delivery.status,
  attempts: WEBHOOK_TABLES.webhook_delivery.attempts,
  webhook: WEBHOOK_TABLES.webhook.id,
  account: WEBHOOK_TABLES.webhook.account,
  url: WEBHOOK_TABLES.webhook.url,
  format: oneOf(WEBHOOK_FORMATS),
  isEnabled: WEBHOOK_TABLES.webhook.is_enabled,
  secret: WEBHOOK_TABLES.webhook.secret,
  formerSecret: WEBHOOK_TABLES.webhook.former_secret,
  formerUntil: WEBHOOK_TABLES.webhook.former_until,
}
export type SendableDelivery = RowOf<typeof SENDABLE_DELIVERY_ROW>

/** A delivery with its webhook. Undefined when either is gone. */
export async function findSendable(db: Database, id: string): Promise<SendableDelivery | undefined> {
  const rows = await readRows(
    db,
    SENDABLE_DELIVERY_ROW,
    sql`select d.event, d.body, d.status, d.attempts, w.id as webhook,
      w.account, w.url, w.format, w.is_enabled as "isEnabled", w.secret, w.former_secret as "formerSecret",
      w.former_until as "formerUntil"
    from webhook_delivery d join webhook w on w.id = d.webhook_id where d.id = ${id}`,
  )
  return rows[0]
}

/** The result of one attempt. `at` is Unix milliseconds. */
export type DeliveryResult = {
  readonly status: DeliveryStatus
  readonly statusCode: number | null
  readonly error: string | null
  readonly at: number
}

export async function noteAttempt(db: Database, id: string, result: DeliveryResult): Promise<void> {
  const at = new Date(result.at)
  await sql`update webhook_delivery set status = ${result.status}, status_code = ${result.statusCode},
      error = ${result.error}, attempts = attempts + 1, attempted_at = ${at},
      delivered_at = ${result.status === 'delivered' ? at : null}
    where id = ${id} and status <> 'delivered'`.execute(db)
}

/** Waiting deliveries without an attempt since an instant (Unix milliseconds). Their job may be lost. */
export async function listStrayDeliveries(db: Database, since: number, limit: number): Promise<string[]> {
  const rows = await readRows(
    db,
    { id: WEBHOOK_TABLES.webhook_delivery.id },
    sql`select id from webhook_delivery
    where status = 'pending' and coalesce(attempted_at, created_at) < ${new Date(since)}
    order by id limit ${limit}`,
  )
  return rows.map(({ id }) => id)
}

/** Deliveries without an attempt. */
export async function listUntriedDeliveries(db: Database, limit: number): Promise<string[]> {
  const rows = await readRows(
    db,
    { id: WEBHOOK_TABLES.webhook_delivery.id },
    sql`select id from webhook_delivery where status = 'pending' and attempted_at is null order by id limit ${limit}`,
  )
  return rows.map(({ id }) => id)
}

/**
 * Removes finished deliveries and alert marks from before an instant (Unix milliseconds), at most `limit` of each.
 * Returns their number.
 */
export async function purgeDeliveries(db: Database, before: number, limit: number): Promise<number> {
  const until = new Date(before)
  const deletedRows = await sql`delete from webhook_delivery where id in (select id from webhook_delivery
    where created_at < ${until} and status <> 'pending' order by id limit ${limit})`.execute(db)
  const marks = await sql`delete from webhook_alert where ctid in (select ctid from webhook_alert
    where at < ${until} and subject <> 'balance' limit ${limit})`.execute(db)
  return Number(deletedRows.numAffectedRows ?? 0n) + Number(marks.numAffectedRows ?? 0n)
}
