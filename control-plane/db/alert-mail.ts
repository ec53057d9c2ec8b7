import { sql } from 'kysely'
import type { AccountId, UserId, WebhookId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import { readRows } from './rows.ts'
import { integer } from './tables/column.ts'

const ALERTS_ROW = { alerts: integer() }

/** Counts an alert by e-mail and returns the number of the account's alerts on that UTC day. */
export async function countAlertMail(db: Database, account: AccountId, day: string): Promise<number> {
  const rows = await readRows(
    db,
    ALERTS_ROW,
    sql`insert into alert_mail_day (account, day, alerts) values (${account}, ${day}::date, 1)
    on conflict (account, day) do update set alerts = alert_mail_day.alerts + 1 returning alerts`,
  )
  return rows[0]?.alerts ?? 0
}

/** The alerts by e-mail of an account on a UTC day. */
export async function findAlertMails(db: Database, account: AccountId, day: string): Promise<number> {
  const rows = await readRows(
    db,
    ALERTS_ROW,
    sql`select alerts from alert_mail_day where account = ${account} and day = ${day}::date`,
  )
  return rows[0]?.alerts ?? 0
}

/** Removes the counts of days before a day. Returns their number. */
export async function deleteAlertMailDays(db: Database, before: string): Promise<number> {
  const { numAffectedRows } = await sql`delete from alert_mail_day where day < ${before}::date`.execute(db)
  return Number(numAffectedRows ?? 0n)
}

/** True for an address that a user has verified. */
export async function hasEmail(db: Database | Trx, user: UserId, address: string): Promise<boolean> {
  const found = await db
    .selectFrom('email_address')
    .select('id')
    .where('user_id', '=', user)
    .where('address', '=', address)
    .executeTakeFirst()
  return found !== undefined
}

/** Switches off the alerts to an address that its user removes. `at` is Unix milliseconds. */
export async function disableAlertsTo(trx: Trx, url: string, at: number): Promise<void> {
  await sql`update webhook set is_enabled = false, updated_at = ${new Date(at)}
    where format = 'email' and url = ${url} and is_enabled`.execute(trx)
}

/** The URL of an alert by e-mail. Undefined for a webhook that is gone or is no such alert. */
export async function findAlertUrl(trx: Trx, id: WebhookId): Promise<string | undefined> {
  const found = await trx
    .selectFrom('webhook')
    .select('url')
    .where('id', '=', id)
    .where('format', '=', 'email')
    .executeTakeFirst()
  return found?.url
}

/** Switches an alert off. Returns false for one that is off. `at` is Unix milliseconds. */
export async function disableAlert(trx: Trx, id: WebhookId, at: number): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('webhook')
    .set({ is_enabled: false, updated_at: new Date(at) })
    .where('id', '=', id)
    .where('is_enabled', '=', true)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}
