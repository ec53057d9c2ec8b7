import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, boolean, integer, timestamp } from './tables/column.ts'
import type { TransferState } from './tables/treasury.ts'
import { TREASURY_TABLES } from './tables/treasury.ts'
import type { TreasuryTransfer } from './treasury-transfers.ts'
import { TRANSFER_COLUMNS, TRANSFER_ROW } from './treasury-transfers.ts'

/** An operator's decision not to pay a seller. */
const STOP_ROW = {
  id: TREASURY_TABLES.seller_stop.id,
  seller: TREASURY_TABLES.seller_stop.seller,
  reason: TREASURY_TABLES.seller_stop.reason,
  setAt: TREASURY_TABLES.seller_stop.set_at,
  setBy: TREASURY_TABLES.seller_stop.set_by,
}
export type SellerStop = RowOf<typeof STOP_ROW>
const STOP = sql`id, seller, reason, set_at as "setAt", set_by as "setBy"`

export async function findSellerStop(db: Database | Trx, seller: AccountId): Promise<SellerStop | undefined> {
  const rows = await readRows(
    db,
    STOP_ROW,
    sql`select ${STOP} from seller_stop where seller = ${seller} and cleared_at is null`,
  )
  return rows[0]
}

/** The sellers with stopped payouts, newest decision first. */
export async function listSellerStops(db: Database, limit: number): Promise<SellerStop[]> {
  return readRows(
    db,
    STOP_ROW,
    sql`select ${STOP} from seller_stop where cleared_at is null order by id desc limit ${limit}`,
  )
}

/** Stops a seller's payouts. Returns false when they were stopped already. */
export async function insertSellerStop(
  trx: Trx,
  stop: { readonly id: string; readonly seller: AccountId; readonly reason: string; readonly by: string },
): Promise<boolean> {
  const { numAffectedRows } = await sql`insert into seller_stop (id, seller, reason, set_by)
    values (${stop.id}, ${stop.seller}, ${stop.reason}, ${stop.by})
    on conflict (seller) where cleared_at is null do nothing`.execute(trx)
  return numAffectedRows === 1n
}

/** Lets a seller be paid again. Returns false when nothing stopped it. */
export async function clearSellerStop(trx: Trx, seller: AccountId, by: string): Promise<boolean> {
  const { numAffectedRows } = await sql`update seller_stop set cleared_at = now(), cleared_by = ${by}
    where seller = ${seller} and cleared_at is null`.execute(trx)
  return numAffectedRows === 1n
}

/** The instant at which balances were last turned into payouts; undefined before the first time. */
export async function readDrainedAt(db: Database): Promise<Date | undefined> {
  const rows = await readRows(db, { at: timestamp() }, sql`select drained_at as at from payout_drain`)
  return rows[0]?.at
}

export async function markDrained(db: Database, at: Date): Promise<void> {
  await sql`insert into payout_drain as known (drained_at) values (${at})
    on conflict (is_only) do update set drained_at = greatest(known.drained_at, excluded.drained_at)`.execute(db)
}

/** True when the token refused the seller's last payout to a recipient within some milliseconds. */
export async function wasRefusedLately(
  trx: Trx,
  seller: AccountId,
  recipient: string,
  withinMs: number,
): Promise<boolean> {
  const rows = await readRows(
    trx,
    { reason: TREASURY_TABLES.treasury_transfer.reason },
    sql`select reason from treasury_transfer where seller = ${seller} and recipient = ${recipient}
      and ended_at > now() - make_interval(secs => ${withinMs / 1_000}) order by id desc limit 1`,
  )
  return rows[0]?.reason === 'recipient_refused'
}

/** Open transfers by state. */
const STATE_ROW = {
  state: TREASURY_TABLES.treasury_transfer.state,
  count: integer(),
  amount: bigint(),
  oldestAt: timestamp(),
}
export type TransferStateCount = RowOf<typeof STATE_ROW>

export async function countOpenTransfers(db: Database): Promise<TransferStateCount[]> {
  return readRows(
    db,
    STATE_ROW,
    sql`select state, count(*)::int as count, sum(amount)::bigint as amount, min(planned_at) as "oldestAt"
      from treasury_transfer where state not in ('paid', 'returned') group by state order by state`,
  )
}

type DeskFilter = {
  readonly state: TransferState | undefined
  readonly seller: AccountId | undefined
  readonly recipient: string | undefined
}

/** Transfers, newest first. */
export async function listDeskTransfers(
  db: Database,
  { state, seller, recipient }: DeskFilter,
  limit: number,
): Promise<TreasuryTransfer[]> {
  const conditions = [
    sql`true`,
    ...(state === undefined ? [] : [sql`state = ${state}`]),
    ...(seller === undefined ? [] : [sql`seller = ${seller}`]),
    ...(recipient === undefined ? [] : [sql`recipient = ${recipient}`]),
  ]
  return readRows(
    db,
    TRANSFER_ROW,
    sql`select ${TRANSFER_COLUMNS} from treasury_transfer where ${sql.join(conditions, sql` and `)}
      order by planned_at desc, id desc limit ${limit}`,
  )
}

/** True for a transaction that carries the payment of a call. */
export async function findPaymentByTransaction(trx: Trx, transaction: string): Promise<boolean> {
  const rows = await readRows(
    trx,
    { found: boolean() },
    sql`select exists (select from chain_payment where tx_hash = ${transaction}) as found`,
  )
  return rows[0]?.found === true
}
