import { sql } from 'kysely'
import type { AccountId, WebhookId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import { readRows } from './rows.ts'
import type { WebhookEvent, WebhookFormat } from './tables/webhooks.ts'
import { WEBHOOK_TABLES } from './tables/webhooks.ts'

/** A webhook without its secrets. */
export type WebhookRow = {
  readonly id: WebhookId
  readonly url: string
  readonly label: string | null
  readonly events: WebhookEvent[]
  readonly lowBalanceMicro: bigint | null
  readonly isEnabled: boolean
  readonly format: WebhookFormat
  readonly formerUntil: Date | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

const COLUMNS = [
  'id',
  'url',
  'label',
  'events',
  'low_balance_micro as lowBalanceMicro',
  'is_enabled as isEnabled',
  'format',
  'former_until as formerUntil',
  'created_at as createdAt',
  'updated_at as updatedAt',
] as const

/** The fields of a webhook that its owner may change. */
export type WebhookSettings = Pick<WebhookRow, 'url' | 'label' | 'events' | 'lowBalanceMicro' | 'isEnabled' | 'format'>

type NewWebhook = WebhookSettings & {
  readonly id: WebhookId
  readonly account: AccountId
  /** The sealed secret as JSON. */
  readonly secret: string
  /** Unix milliseconds. */
  readonly at: number
}

export async function insertWebhook(trx: Trx, hook: NewWebhook): Promise<void> {
  const at = new Date(hook.at)
  const facts = { id: hook.id, account: hook.account, secret: hook.secret, former_secret: null, former_until: null }
  await trx
    .insertInto('webhook')
    .values({ ...facts, ...columnsOf(hook), created_at: at, updated_at: at })
    .execute()
}

function columnsOf({ url, label, events, lowBalanceMicro, isEnabled, format }: WebhookSettings) {
  return { url, label, events: [...events], low_balance_micro: lowBalanceMicro, is_enabled: isEnabled, format }
}

/** The webhooks of an account, oldest first. */
export async function listWebhooks(db: Database | Trx, account: AccountId): Promise<WebhookRow[]> {
  return db.selectFrom('webhook').select(COLUMNS).where('account', '=', account).orderBy('id').execute()
}

/** Finds a webhook of an account. Returns undefined for a webhook of another account. */
export async function findWebhook(db: Database | Trx, account: AccountId, id: string): Promise<WebhookRow | undefined> {
  const query = db.selectFrom('webhook').select(COLUMNS).where('account', '=', account)
  return query.where(sql<string>`id`, '=', id).executeTakeFirst()
}

export async function updateWebhook(trx: Trx, id: WebhookId, settings: WebhookSettings, at: number): Promise<void> {
  await trx
    .updateTable('webhook')
    .set({ ...columnsOf(settings), updated_at: new Date(at) })
    .where('id', '=', id)
    .execute()
}

/** Removes a webhook with its deliveries and alert marks. */
export async function deleteWebhook(trx: Trx, id: WebhookId): Promise<void> {
  await trx.deleteFrom('webhook').where('id', '=', id).execute()
}

type NewSecret = { readonly secret: string; readonly formerUntil: number; readonly at: number }

/** Gives a webhook a new secret. The present one also signs until `formerUntil` (Unix milliseconds). */
export async function replaceWebhookSecret(trx: Trx, id: WebhookId, next: NewSecret): Promise<void> {
  await sql`update webhook set former_secret = secret, former_until = ${new Date(next.formerUntil)},
    secret = ${next.secret}::jsonb, updated_at = ${new Date(next.at)} where id = ${id}`.execute(trx)
}

/** The webhooks of an account that are switched on and listen for an event. */
export async function listListening(trx: Trx, account: AccountId, event: WebhookEvent): Promise<WebhookId[]> {
  const rows = await readRows(
    trx,
    { id: WEBHOOK_TABLES.webhook.id },
    sql`select id from webhook where account = ${account} and is_enabled and ${event} = any(events) order by id`,
  )
  return rows.map(({ id }) => id)
}

/** The shape of the bodies that a webhook gets. Undefined for a webhook that is gone. */
export async function findWebhookFormat(db: Database | Trx, id: WebhookId): Promise<WebhookFormat | undefined> {
  const row = await db.selectFrom('webhook').select('format').where(sql<string>`id`, '=', id).executeTakeFirst()
  return row?.format
}
