import { sql } from 'kysely'
import type { AccountId, RequestId } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CHAIN_PAYMENT_TABLES } from './tables/chain-payments.ts'

const TABLE = CHAIN_PAYMENT_TABLES.chain_payment

/** How a call that a wallet paid stands on the chain. */
const CARRIED_ROW = {
  rid: TABLE.rid,
  state: TABLE.state,
  transaction: TABLE.tx_hash,
  reason: TABLE.reason,
  changedAt: TABLE.changed_at,
}
export type CarriedCall = RowOf<typeof CARRIED_ROW>
const CARRIED = sql`rid, state, tx_hash as "transaction", reason, changed_at as "changedAt"`

/** The payments of those calls that a wallet paid, by request id. */
export async function findCarriedCalls(db: Database, rids: readonly string[]): Promise<Map<string, CarriedCall>> {
  if (rids.length === 0) return new Map()
  const rows = await readRows(
    db,
    CARRIED_ROW,
    sql`select ${CARRIED} from chain_payment where rid = any(${[...rids]}::text[])`,
  )
  return new Map(rows.map((row) => [row.rid, row]))
}

/** The payment for a call, and its usage event once it has told one. */
const PAID_ROW = {
  ...CARRIED_ROW,
  rail: TABLE.rail,
  event: TABLE.event,
  serveUntil: TABLE.serve_until,
  bookedAt: TABLE.booked_at,
}
export type PaidCall = RowOf<typeof PAID_ROW>
const PAID = sql`${CARRIED}, rail, event, serve_until as "serveUntil", booked_at as "bookedAt"`

/** An account's payment for a call. */
export async function findPaidCall(db: Database, account: AccountId, rid: RequestId): Promise<PaidCall | undefined> {
  const rows = await readRows(
    db,
    PAID_ROW,
    sql`select ${PAID} from chain_payment where rid = ${rid} and account = ${account}`,
  )
  return rows[0]
}

/** The account that a wallet's payment for a call is of. */
export async function findPayerOf(db: Database, rid: RequestId): Promise<AccountId | undefined> {
  const rows = await readRows(db, { account: TABLE.account }, sql`select account from chain_payment where rid = ${rid}`)
  return rows[0]?.account
}

/** An account's calls that have told their usage and are not booked, newest first, before `before`. */
export async function listUnbookedCalls(
  db: Database,
  account: AccountId,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<PaidCall[]> {
  const before = page.before === undefined ? sql`` : sql`and rid < ${page.before}`
  return readRows(
    db,
    PAID_ROW,
    sql`select ${PAID} from chain_payment
      where account = ${account} and booked_at is null and event is not null ${before}
      order by rid desc limit ${page.limit}`,
  )
}
