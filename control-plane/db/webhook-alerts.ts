import { sql } from 'kysely'
import { DAY } from '#shared/clock.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { ACCOUNT_TABLES } from './tables/accounts.ts'
import { bigint, id, nullable, text } from './tables/column.ts'
import { ORGANIZATION_TABLES } from './tables/organizations.ts'
import { WEBHOOK_TABLES } from './tables/webhooks.ts'

/** Most alerts of one subject in a day, unless a smaller number is given. A cap has six. */
const MANY_A_DAY = 1_000

/** A pair of ids after which a page begins: of a webhook, and of a key or a budget. */
export type AlertPlace = { readonly webhook: string; readonly subject: string }

/** A key with a cap, and a webhook that reports when the key reaches the cap. Amounts are micro-USD. */
const WATCHED_KEY_ROW = {
  webhook: WEBHOOK_TABLES.webhook.id,
  account: WEBHOOK_TABLES.webhook.account,
  keyId: id('key'),
  label: text(),
  capDailyMicro: nullable(bigint()),
  capMonthlyMicro: nullable(bigint()),
}
export type WatchedKey = RowOf<typeof WATCHED_KEY_ROW>

/**
 * A page of active keys with a cap, each paired with each webhook that listens for caps, sorted by id, after a pair of
 * ids.
 */
export async function listWatchedKeys(db: Database, after: AlertPlace, limit: number): Promise<WatchedKey[]> {
  return readRows(
    db,
    WATCHED_KEY_ROW,
    sql`select w.id as webhook, w.account, k.id as "keyId", k.label,
      k.cap_daily_micro as "capDailyMicro", k.cap_monthly_micro as "capMonthlyMicro"
    from webhook w
    left join app_user u on u.buyer_account = w.account
    left join workspace p on p.buyer_account = w.account
    join lateral (
      select * from api_key where user_id = u.id and workspace_id is null
      union all select * from api_key where workspace_id = p.id
    ) k on k.type = 'buyer' and k.revoked_at is null
      and (k.cap_daily_micro is not null or k.cap_monthly_micro is not null)
    where w.is_enabled and 'key.cap_reached' = any(w.events) and (w.id, k.id) > (${after.webhook}, ${after.subject})
    order by w.id, k.id limit ${limit}`,
  )
}

/** A budget, and a webhook that reports when the budget is used up. Amounts are micro-USD. */
const WATCHED_BUDGET_ROW = {
  webhook: WEBHOOK_TABLES.webhook.id,
  budgetId: ORGANIZATION_TABLES.budget.id,
  organization: ORGANIZATION_TABLES.organization.id,
  organizationName: ORGANIZATION_TABLES.organization.name,
  workspace: ORGANIZATION_TABLES.budget.workspace_id,
  user: ORGANIZATION_TABLES.budget.user_id,
  /** The name of the workspace, or the wallet of the member; the id of a member without one. */
  name: text(),
  limitMicro: ORGANIZATION_TABLES.budget.limit_micro,
}
export type WatchedBudget = RowOf<typeof WATCHED_BUDGET_ROW>

/**
 * A page of budgets, each paired with each webhook that listens for budgets, sorted by id, after a pair of ids. The
 * webhooks are those of the organisation's owners, admins and billing members, of the member whose budget it is, and of
 * the account of the workspace.
 */
export async function listWatchedBudgets(db: Database, after: AlertPlace, limit: number): Promise<WatchedBudget[]> {
  return readRows(
    db,
    WATCHED_BUDGET_ROW,
    sql`select w.id as webhook, b.id as "budgetId", o.id as organization, o.name as "organizationName",
      b.workspace_id as workspace, b.user_id as user, coalesce(p.name, member.wallet, b.user_id) as name,
      b.limit_micro as "limitMicro"
    from budget b
    join organization o on o.id = b.organization_id
    left join workspace p on p.id = b.workspace_id
    left join app_user member on member.id = b.user_id
    join lateral (
      select u.buyer_account as account from organization_member m join app_user u on u.id = m.user_id
        where m.organization_id = o.id and (m.role in ('owner', 'admin', 'billing') or m.user_id = b.user_id)
      union select p.buyer_account where p.id is not null
    ) listener on true
    join webhook w on w.account = listener.account and w.is_enabled and 'budget.reached' = any(w.events)
    where p.closed_at is null and (w.id, b.id) > (${after.webhook}, ${after.subject})
    order by w.id, b.id limit ${limit}`,
  )
}

const ALERT_MARK_ROW = {
  webhook: WEBHOOK_TABLES.webhook.id,
  subject: WEBHOOK_TABLES.webhook_alert.subject,
  mark: WEBHOOK_TABLES.webhook_alert.mark,
}
export type AlertMark = RowOf<typeof ALERT_MARK_ROW>

/** The alerts already sent to webhooks, as `webhook subject mark`. */
export async function listAlertMarks(
  db: Database,
  webhooks: readonly string[],
  subjects: readonly string[],
): Promise<Set<string>> {
  const rows = await readRows(
    db,
    ALERT_MARK_ROW,
    sql`select webhook_id as webhook, subject, mark from webhook_alert
    where webhook_id = any(${[...webhooks]}::text[]) and subject = any(${[...subjects]}::text[])`,
  )
  return new Set(rows.map(markText))
}

export function markText({ webhook, subject, mark }: AlertMark): string {
  return `${webhook} ${subject} ${mark}`
}

/**
 * Records that an alert was sent. Returns false for an alert that was sent already, for a deleted webhook, and for a
 * subject with too many alerts in the last day.
 */
export async function insertAlertMark(
  trx: Trx,
  { webhook, subject, mark }: AlertMark,
  at: number,
  mostADay = MANY_A_DAY,
): Promise<boolean> {
  const { numAffectedRows } = await sql`insert into webhook_alert (webhook_id, subject, mark, at)
    select w.id, ${subject}, ${mark}, ${new Date(at)} from webhook w where w.id = ${webhook}
      and (select count(*) from webhook_alert m
        where m.webhook_id = w.id and m.subject = ${subject} and m.at > ${new Date(at - DAY)}) < ${mostADay}
    on conflict do nothing`.execute(trx)
  return numAffectedRows === 1n
}

/** The mark of a low balance that was reported. */
export const BALANCE = { subject: 'balance', mark: 'low' } as const

/** A balance below the threshold of a webhook. Amounts are micro-USD. */
const LOW_BALANCE_ROW = {
  webhook: WEBHOOK_TABLES.webhook.id,
  balance: ACCOUNT_TABLES.account.balance,
  threshold: bigint(),
}
export type LowBalance = RowOf<typeof LOW_BALANCE_ROW>

/** Low balances that were not reported since they fell. */
export async function listLowBalances(db: Database, limit: number): Promise<LowBalance[]> {
  const rows = await readRows(
    db,
    LOW_BALANCE_ROW,
    sql`select w.id as webhook, a.balance, w.low_balance_micro as threshold
    from webhook w join account a on a.id = w.account
    where w.is_enabled and 'balance.low' = any(w.events) and a.balance < w.low_balance_micro
      and not exists (select from webhook_alert m
        where m.webhook_id = w.id and m.subject = ${BALANCE.subject} and m.mark = ${BALANCE.mark})
    order by w.id limit ${limit}`,
  )
  return rows
}

/** Deletes the marks of balances that have risen again, so that the next fall is reported. */
export async function clearRisenBalances(db: Database): Promise<void> {
  await sql`delete from webhook_alert m using webhook w, account a
    where w.id = m.webhook_id and a.id = w.account and m.subject = ${BALANCE.subject} and m.mark = ${BALANCE.mark}
      and (w.low_balance_micro is null or a.balance >= w.low_balance_micro)`.execute(db)
}
