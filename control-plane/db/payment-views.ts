import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import { CHAIN_RAILS } from '#shared/contract/chain-payments.ts'
import type { AccountId, RequestId } from '#shared/ids.ts'
import { mediaUnitOf } from './catalog.ts'
import type { Database } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'
import { CHAIN_PAYMENT_TABLES } from './tables/chain-payments.ts'
import { bigint, nullable, text } from './tables/column.ts'

const TABLE = CHAIN_PAYMENT_TABLES.chain_payment

/** The state on the chain of a wallet-paid call. */
const CARRIED_ROW = {
  rid: TABLE.rid,
  state: TABLE.state,
  transaction: TABLE.tx_hash,
  reason: TABLE.reason,
  changedAt: TABLE.changed_at,
}
export type CarriedCall = RowOf<typeof CARRIED_ROW>
const CARRIED = sql`rid, state, tx_hash as "transaction", reason, changed_at as "changedAt"`

/** The payments of the wallet-paid calls among the given ones, by request id. */
export async function findCarriedCalls(db: Database, rids: readonly string[]): Promise<Map<string, CarriedCall>> {
  if (rids.length === 0) return new Map()
  const rows = await readRows(
    db,
    CARRIED_ROW,
    sql`select ${CARRIED} from chain_payment where rid = any(${[...rids]}::text[])`,
  )
  return new Map(rows.map((row) => [row.rid, row]))
}

/** The payment for a call, and its usage event once it is reported. */
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

/** The columns of a settlement's payment. Both are null for a call without a wallet's payment. */
export function paymentOf(call: 'settlement' | 's'): RawBuilder<unknown> {
  const [rid, rail] = [sql.ref(`${call}.rid`), sql.ref(`${call}.rail`)]
  const isByWallet = sql`${rail} in (${sql.join(CHAIN_RAILS.map((name) => sql.lit(name)))})`
  return sql`case when ${isByWallet} then (select p.state from chain_payment p where p.rid = ${rid}) end as "paymentState",
    case when ${isByWallet} then (select p.tx_hash from chain_payment p where p.rid = ${rid}) end as "transaction"`
}
export const PAYMENT_OF_ROW = { paymentState: nullable(TABLE.state), transaction: TABLE.tx_hash }

/**
 * A sale whose payment is not booked: the event of its call, and the prices of its price version if they are still
 * known.
 */
const PENDING_SALE_ROW = {
  rid: TABLE.rid,
  event: text(),
  transaction: TABLE.tx_hash,
  unitPrices: nullable(CATALOG_TABLES.model_price.unit_prices),
  overrides: nullable(CATALOG_TABLES.model_price.overrides),
  mediaUnit: nullable(text()),
}
export type PendingSale = RowOf<typeof PENDING_SALE_ROW>
/** The condition for a seller's unbooked sales. They are few, because exposure to wallets is bounded. */
const isPendingOf = (seller: AccountId) =>
  sql`(c.event::jsonb ->> 'sellerAccount') = ${seller} and c.booked_at is null and c.event is not null and c.charge > 0`

/** A seller's unbooked sales, newest first, before `before`. */
export async function listPendingSales(
  db: Database,
  seller: AccountId,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<PendingSale[]> {
  const before = page.before === undefined ? sql`` : sql`and c.rid < ${page.before}`
  return readRows(
    db,
    PENDING_SALE_ROW,
    sql`select c.rid, c.event, c.tx_hash as "transaction", m.unit_prices as "unitPrices", m.overrides,
        ${mediaUnitOf(sql`c.event::jsonb ->> 'model'`)} as "mediaUnit" from chain_payment c
      left join model_price m on m.version = c.event::jsonb ->> 'priceVersion'
      where ${isPendingOf(seller)} ${before} order by c.rid desc limit ${page.limit}`,
  )
}

/** The sum of a seller's unbooked sales, in micro-USD. */
export async function sumPendingSales(db: Database, seller: AccountId): Promise<bigint> {
  const rows = await readRows(
    db,
    { earned: bigint() },
    sql`select coalesce(sum((c.event::jsonb ->> 'sellerNetMicro')::bigint), 0)::bigint as earned from chain_payment c
      where ${isPendingOf(seller)}`,
  )
  return rows[0]?.earned ?? 0n
}

/** The account of a wallet's payment for a call. */
export async function findPayerOf(db: Database, rid: RequestId): Promise<AccountId | undefined> {
  const rows = await readRows(db, { account: TABLE.account }, sql`select account from chain_payment where rid = ${rid}`)
  return rows[0]?.account
}

/** An account's unbooked calls with reported usage, newest first, before `before`. */
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

/** An account's calls that one transaction of the chain paid for, newest first, before `before`. */
export async function listCallsOfTransaction(
  db: Database,
  account: AccountId,
  transaction: string,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<RequestId[]> {
  const before = page.before === undefined ? sql`` : sql`and rid < ${page.before}`
  const rows = await readRows(
    db,
    { rid: TABLE.rid },
    sql`select rid from chain_payment where tx_hash = ${transaction} and account = ${account} ${before}
      order by rid desc limit ${page.limit}`,
  )
  return rows.map(({ rid }) => rid)
}
