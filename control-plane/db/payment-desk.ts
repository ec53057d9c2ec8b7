import { sql } from 'kysely'
import { IS_OPEN } from './chain-payments.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import type { ChainPaymentState } from './tables/chain-payments.ts'
import { CHAIN_PAYMENT_TABLES } from './tables/chain-payments.ts'
import { bigint, integer, nullable, timestamp } from './tables/column.ts'

const TABLE = CHAIN_PAYMENT_TABLES.chain_payment

/**
 * Payments in one state that still matter: their count, the most that they may amount to in micro-USD, and the last
 * step of the oldest.
 */
const STATE_ROW = { state: TABLE.state, count: integer(), amount: bigint(), oldestAt: timestamp() }

/** Counts open payments, and payments that were written off and not forgiven. */
export async function countPaymentStates(db: Database): Promise<RowOf<typeof STATE_ROW>[]> {
  return readRows(
    db,
    STATE_ROW,
    sql`select state, count(*)::integer as count, sum(coalesce(due, amount) - coalesce(came, 0))::bigint as amount, min(changed_at) as "oldestAt"
      from chain_payment where ${IS_OPEN} or (state = 'written_off' and cleared_at is null)
      group by state order by state`,
  )
}

/** Signed transactions that are in no block yet, and the signature time of the oldest. */
export async function countUnminedTransactions(db: Database): Promise<{ count: number; oldestAt: Date | null }> {
  const [row] = await readRows(
    db,
    { count: integer(), oldestAt: nullable(timestamp()) },
    sql`select count(*)::integer as count, min(signed_at) as "oldestAt" from chain_transaction
      where mined_at is null and dead_at is null`,
  )
  return row ?? { count: 0, oldestAt: null }
}

const DESK_ROW = {
  rid: TABLE.rid,
  rail: TABLE.rail,
  payer: TABLE.payer,
  account: TABLE.account,
  state: TABLE.state,
  amount: TABLE.amount,
  due: TABLE.due,
  charge: TABLE.charge,
  came: TABLE.came,
  transaction: TABLE.tx_hash,
  reason: TABLE.reason,
  claimedAt: timestamp(),
  changedAt: timestamp(),
  validUntil: TABLE.valid_until,
  bookedAt: TABLE.booked_at,
  clearedAt: TABLE.cleared_at,
}
export type DeskPayment = RowOf<typeof DESK_ROW>

export type PaymentFilter = {
  readonly state?: ChainPaymentState | undefined
  /** In lower case. */
  readonly payer?: string | undefined
  /** Only payments that are due or mined and have not changed for this many milliseconds. */
  readonly restingMs?: number | undefined
}

/** Payments by wallet, newest first. */
export async function listDeskPayments(db: Database, filter: PaymentFilter, limit: number): Promise<DeskPayment[]> {
  const { state, payer, restingMs } = filter
  const conditions = [
    ...(state === undefined ? [] : [sql`state = ${state}`]),
    ...(payer === undefined ? [] : [sql`payer = ${payer}`]),
    ...(restingMs === undefined
      ? []
      : [sql`state in ('due', 'mined') and changed_at < now() - make_interval(secs => ${restingMs / 1_000})`]),
    sql`true`,
  ]
  return readRows(
    db,
    DESK_ROW,
    sql`select rid, rail, payer, account, state, amount, due, charge, came, tx_hash as "transaction", reason,
        claimed_at as "claimedAt", changed_at as "changedAt", valid_until as "validUntil", booked_at as "bookedAt",
        cleared_at as "clearedAt"
      from chain_payment where ${sql.join(conditions, sql` and `)} order by rid desc limit ${limit}`,
  )
}

const DEBTOR_ROW = { payer: TABLE.payer, owed: bigint(), payments: integer(), since: timestamp() }
export type Debtor = RowOf<typeof DEBTOR_ROW>

/**
 * Payers with payments that were written off and not forgiven. Their calls are refused. The largest debts come first.
 */
export async function listDebtors(db: Database, limit: number): Promise<Debtor[]> {
  return readRows(
    db,
    DEBTOR_ROW,
    sql`select payer, sum(due - coalesce(came, 0))::bigint as owed, count(*)::integer as payments, min(changed_at) as since
      from chain_payment where state = 'written_off' and cleared_at is null
      group by payer order by 2 desc, 1 limit ${limit}`,
  )
}

/** Forgives the debt of a payment. Returns its payer; undefined for a payment without a debt. */
export async function forgivePayment(trx: Trx, rid: string): Promise<string | undefined> {
  const [row] = await readRows(
    trx,
    { payer: TABLE.payer },
    sql`update chain_payment set cleared_at = now()
      where rid = ${rid} and state = 'written_off' and cleared_at is null returning payer`,
  )
  return row?.payer
}
