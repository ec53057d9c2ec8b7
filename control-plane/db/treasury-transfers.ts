import { sql } from 'kysely'
import type { AccountId, PayoutId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, id, integer, text } from './tables/column.ts'
import type { TransferId, TransferMode, TransferState } from './tables/treasury.ts'
import { TREASURY_TABLES } from './tables/treasury.ts'

const TABLE = TREASURY_TABLES.treasury_transfer
export const TRANSFER_ROW = {
  id: TABLE.id,
  purpose: TABLE.purpose,
  seller: TABLE.seller,
  inFlight: TABLE.in_flight,
  recipient: TABLE.recipient,
  amount: TABLE.amount,
  mode: TABLE.mode,
  state: TABLE.state,
  reason: TABLE.reason,
  nonce: TABLE.nonce,
  chainId: TABLE.chain_id,
  asset: TABLE.asset,
  treasury: TABLE.treasury,
  signature: TABLE.signature,
  validUntil: TABLE.valid_until,
  signedAtBlock: TABLE.signed_at_block,
  batch: TABLE.batch,
  transaction: TABLE.tx_hash,
  block: TABLE.block,
  plannedAt: TABLE.planned_at,
  changedAt: TABLE.changed_at,
  endedAt: TABLE.ended_at,
  number: TABLE.number,
  foundAt: TABLE.found_at,
}
export type TreasuryTransfer = RowOf<typeof TRANSFER_ROW>
export const TRANSFER_COLUMNS = sql`id, purpose, seller, in_flight as "inFlight", recipient, amount, mode, state, reason,
  nonce, chain_id as "chainId", asset, treasury, signature, valid_until as "validUntil",
  signed_at_block as "signedAtBlock", batch, tx_hash as "transaction", block, planned_at as "plannedAt",
  changed_at as "changedAt", ended_at as "endedAt", number, found_at as "foundAt"`

export type NewTransfer = {
  readonly id: TransferId
  readonly purpose: 'payout' | 'sweep'
  readonly seller: AccountId | null
  readonly inFlight: AccountId | null
  readonly recipient: string
  readonly amount: bigint
  readonly mode: TransferMode
  readonly state: TransferState
  readonly reason: string | null
  readonly nonce: `0x${string}`
  /** The number among the transfers of a seller and recipient; null for a transfer that its id names. */
  readonly number: bigint | null
}

export async function insertTransfer(trx: Trx, transfer: NewTransfer): Promise<void> {
  const { inFlight, ...rest } = transfer
  await trx
    .insertInto('treasury_transfer')
    .values({ ...rest, in_flight: inFlight })
    .execute()
}

/**
 * The number of the next transfer of a seller, or of sweeps, to a recipient. The seller's account, or the treasury, is
 * locked.
 */
export async function nextTransferNumber(trx: Trx, seller: AccountId | null, recipient: string): Promise<bigint> {
  const rows = await readRows(
    trx,
    { number: bigint() },
    sql`select coalesce(max(number), 0) + 1 as number from treasury_transfer
      where recipient = ${recipient} and seller is not distinct from ${seller}`,
  )
  return rows[0]?.number ?? 1n
}

export async function findTransfer(db: Database | Trx, id: string): Promise<TreasuryTransfer | undefined> {
  const rows = await readRows(db, TRANSFER_ROW, sql`select ${TRANSFER_COLUMNS} from treasury_transfer where id = ${id}`)
  return rows[0]
}

/** Reads a transfer and locks it until the end of the transaction. */
export async function lockTransfer(trx: Trx, id: string): Promise<TreasuryTransfer | undefined> {
  const rows = await readRows(
    trx,
    TRANSFER_ROW,
    sql`select ${TRANSFER_COLUMNS} from treasury_transfer where id = ${id} for no key update`,
  )
  return rows[0]
}

/** Reads and locks the transfer with a nonce. Of several, all but one were returned. */
export async function lockTransferByNonce(trx: Trx, nonce: string): Promise<TreasuryTransfer | undefined> {
  const rows = await readRows(
    trx,
    TRANSFER_ROW,
    sql`select ${TRANSFER_COLUMNS} from treasury_transfer where nonce = ${nonce}
      order by state = 'returned', id desc limit 1 for no key update`,
  )
  return rows[0]
}

/** The nonces of transfers that wait for the treasury's signature, oldest first. */
export async function listScheduledNonces(db: Database, limit: number): Promise<`0x${string}`[]> {
  const rows = await readRows(
    db,
    { nonce: TABLE.nonce },
    sql`select nonce from treasury_transfer where state = 'scheduled' and mode = 'batched' order by id limit ${limit}`,
  )
  return rows.map(({ nonce }) => nonce)
}

/**
 * The numbers of a seller's transfers to a recipient: the highest one, and the highest one that did not come from the
 * chain. Lost transfers are found in no order, so numbers between the two may be missing.
 */
const SPAN_ROW = { base: bigint(), last: bigint() }
export type NumberSpan = RowOf<typeof SPAN_ROW>
const SPAN = sql`coalesce(max(number) filter (where found_at is null), 0)::bigint as base,
  coalesce(max(number), 0)::bigint as last`

/** The numbers of a seller's transfers, or of sweeps, to a recipient. */
export async function readNumberSpan(trx: Trx, seller: AccountId | null, recipient: string): Promise<NumberSpan> {
  const rows = await readRows(
    trx,
    SPAN_ROW,
    sql`select ${SPAN} from treasury_transfer
      where recipient = ${recipient} and seller is not distinct from ${seller}`,
  )
  return rows[0] ?? { base: 0n, last: 0n }
}

/** Sellers that are or were paid at a recipient, or all. */
export type SellersOf = 'paid_there' | 'all'

/** A seller who may have sent a transfer to a recipient, with the seller's numbers. */
const NAMED_ROW = { seller: id('acc'), ...SPAN_ROW }
export type NamedSeller = RowOf<typeof NAMED_ROW>

/** Sellers, sorted by account, after one. */
export async function listSellersAt(
  trx: Trx,
  recipient: string,
  page: { readonly among: SellersOf; readonly after: string; readonly limit: number },
): Promise<NamedSeller[]> {
  const here =
    page.among === 'all'
      ? sql`true`
      : sql`a.id in (select seller from treasury_transfer where recipient = ${recipient} and seller is not null
          union select seller_account from app_user where wallet = ${recipient}
          union select seller_account from offer where payout_address = ${recipient})`
  return readRows(
    trx,
    NAMED_ROW,
    sql`select a.id as seller, span.base, span.last
      from account a cross join lateral (
        select ${SPAN} from treasury_transfer t where t.seller = a.id and t.recipient = ${recipient}) span
      where a.kind = 'seller_available' and a.id > ${page.after} and ${here} order by a.id limit ${page.limit}`,
  )
}

const WAITING_ROW = { id: TABLE.id, nonce: TABLE.nonce }

/** The transfers that wait for a signature or a decision, oldest first. */
export async function listUnbookedDepartures(db: Database, limit: number): Promise<RowOf<typeof WAITING_ROW>[]> {
  return readRows(
    db,
    WAITING_ROW,
    sql`select id, nonce from treasury_transfer where state in ('scheduled', 'held') order by id limit ${limit}`,
  )
}

/** Locks the payouts of a seller that wait for a signature or a decision and have a name, newest first. */
export async function lockWaitingPayouts(trx: Trx, seller: AccountId, limit: number): Promise<TreasuryTransfer[]> {
  return readRows(
    trx,
    TRANSFER_ROW,
    sql`select ${TRANSFER_COLUMNS} from treasury_transfer where seller = ${seller} and state in ('scheduled', 'held')
      and number is not null order by id desc limit ${limit} for no key update`,
  )
}

/**
 * Locks scheduled transfers that the treasury sends itself, oldest first. Skips transfers that another transaction has
 * locked.
 */
export async function lockScheduledTransfers(trx: Trx, limit: number): Promise<TreasuryTransfer[]> {
  return readRows(
    trx,
    TRANSFER_ROW,
    sql`select ${TRANSFER_COLUMNS} from treasury_transfer where state = 'scheduled' and mode = 'batched'
      order by id limit ${limit} for no key update skip locked`,
  )
}

/** Transfers in a state, oldest first, after an id. */
export async function listTransfersIn(
  db: Database | Trx,
  state: TransferState,
  page: { readonly after: string; readonly limit: number },
): Promise<TreasuryTransfer[]> {
  return readRows(
    db,
    TRANSFER_ROW,
    sql`select ${TRANSFER_COLUMNS} from treasury_transfer where state = ${state} and id > ${page.after}
      order by id limit ${page.limit}`,
  )
}

/** The signed transfers of a batch, oldest first. */
export async function listBatch(db: Database | Trx, batch: string): Promise<TreasuryTransfer[]> {
  return readRows(
    db,
    TRANSFER_ROW,
    sql`select ${TRANSFER_COLUMNS} from treasury_transfer where batch = ${batch} and state = 'signed' order by id`,
  )
}

/** The batches whose transfers are signed and in no block, oldest first. */
export async function listOpenBatches(db: Database, limit: number): Promise<string[]> {
  const rows = await readRows(
    db,
    { batch: text() },
    sql`select distinct batch from treasury_transfer where state = 'signed' and batch is not null
      order by batch limit ${limit}`,
  )
  return rows.map(({ batch }) => batch)
}

export type TransferChange = Partial<
  Pick<TreasuryTransfer, 'state' | 'reason' | 'batch' | 'transaction' | 'block'> & {
    readonly signed: Signed
    readonly isEnded: true
    /** The chain, token and treasury of a transfer that was found on the chain without a signature here. */
    readonly found: Pick<Signed, 'chainId' | 'asset' | 'treasury'>
  }
>
/** A signature with the transfer that it signs. */
export type Signed = {
  readonly chainId: bigint
  readonly asset: string
  readonly treasury: string
  readonly signature: string
  readonly validUntil: Date
  readonly signedAtBlock: bigint
}

/** Changes a locked transfer. */
export async function changeTransfer(trx: Trx, id: string, change: TransferChange): Promise<void> {
  const { transaction, signed, isEnded, found, ...rest } = change
  await trx
    .updateTable('treasury_transfer')
    .set({
      ...rest,
      ...(transaction === undefined ? {} : { tx_hash: transaction }),
      ...(signed === undefined ? {} : columnsOf(signed)),
      ...(found === undefined
        ? {}
        : { chain_id: found.chainId, asset: found.asset, treasury: found.treasury, found_at: sql`now()` }),
      ...(isEnded === undefined ? {} : { ended_at: sql`now()` }),
      changed_at: sql`now()`,
    })
    .where(sql<string>`id`, '=', id)
    .execute()
}

function columnsOf({ chainId, asset, treasury, signature, validUntil, signedAtBlock }: Signed) {
  return {
    chain_id: chainId,
    asset,
    treasury,
    signature,
    valid_until: validUntil,
    signed_at_block: signedAtBlock,
  }
}

export type PayoutItem = { readonly offer: string; readonly amount: bigint }

/** Stores the items of a payout, and subtracts them from its offers' open earnings. */
export async function insertPayoutItems(trx: Trx, payout: PayoutId, items: readonly PayoutItem[]): Promise<void> {
  await sql`with given as (
      select offer, amount from unnest(${items.map(({ offer }) => offer)}::text[],
        ${items.map(({ amount }) => amount.toString())}::bigint[]) as item(offer, amount)
    ), noted as (
      insert into payout_item (payout, offer, amount) select ${payout}, offer, amount from given
    )
    update offer_earning e set allocated = e.allocated + given.amount from given where e.offer = given.offer`.execute(
    trx,
  )
}

/** Returns the items of a payout to its offers. */
export async function releasePayoutItems(trx: Trx, payout: string): Promise<void> {
  await sql`update offer_earning e set allocated = e.allocated - i.amount from payout_item i
    where i.payout = ${payout} and e.offer = i.offer`.execute(trx)
}

/** The ledger's entries of a payout: its original amount, and the number of its ends. */
const BOOKED_ROW = {
  id: TABLE.id,
  begun: bigint(),
  ended: integer(),
  inFlight: bigint(),
  isStopped: TREASURY_TABLES.payout_drain.is_only,
}
export type BookedPayout = RowOf<typeof BOOKED_ROW>

/**
 * The ledger's facts about payouts: the amount that each moved from its seller's account to the account of money in
 * payouts, the number of its ends, the balance of that account, and whether an operator has stopped the seller's
 * payouts.
 */
export async function listBookedPayouts(trx: Trx, ids: readonly string[]): Promise<Map<string, BookedPayout>> {
  const rows = await readRows(
    trx,
    BOOKED_ROW,
    sql`select p.id,
      coalesce((select least(came.amount, -went.amount) from ledger_key k
        join every_ledger_entry came on came.tx = k.tx and came.account = p.in_flight
        join every_ledger_entry went on went.tx = k.tx and went.account = p.seller
        where k.key = 'payout:' || p.id), 0)::bigint as begun,
      (select count(*)::int from ledger_key k
        where k.key in ('payout_paid:' || p.id, 'payout_returned:' || p.id)) as ended,
      a.balance as "inFlight",
      exists (select from seller_stop s where s.seller = p.seller and s.cleared_at is null) as "isStopped"
    from treasury_transfer p join account a on a.id = p.in_flight where p.id = any(${[...ids]}::text[])`,
  )
  return new Map(rows.map((row) => [row.id, row]))
}

/**
 * Sums of the treasury's money that open transfers bind as of a block: transfers that wait for a signature, and signed
 * ones that may leave at any time. `unbooked` is the sum of signed payouts, in a block or not, that are still in the
 * books.
 */
export async function sumOpenTransfers(
  db: Database | Trx,
  block: bigint,
): Promise<{ readonly waiting: bigint; readonly signed: bigint; readonly unbooked: bigint }> {
  const rows = await readRows(
    db,
    { waiting: bigint(), signed: bigint(), unbooked: bigint() },
    sql`select coalesce(sum(amount) filter (where state in ('scheduled', 'held')), 0)::bigint as waiting,
      coalesce(sum(amount) filter (where state = 'signed' or (state = 'mined' and block > ${block})), 0)::bigint as signed,
      coalesce(sum(amount) filter (where state in ('signed', 'mined') and purpose = 'payout'), 0)::bigint as unbooked
    from treasury_transfer where state not in ('paid', 'returned')`,
  )
  return rows[0] ?? { waiting: 0n, signed: 0n, unbooked: 0n }
}

/** Blocks other sweeps until the end of the transaction. */
export async function lockTreasury(trx: Trx): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('treasury sweep', 8453))`.execute(trx)
}

/** The open sweep. */
export async function findOpenSweep(trx: Trx): Promise<TransferId | undefined> {
  const rows = await readRows(
    trx,
    { id: TABLE.id },
    sql`select id from treasury_transfer where purpose = 'sweep' and state not in ('paid', 'returned') limit 1`,
  )
  return rows[0]?.id
}

/** A seller's open payouts, newest first. */
export async function listOpenPayouts(
  db: Database | Trx,
  seller: AccountId,
  recipient: string | undefined,
  limit: number,
): Promise<TreasuryTransfer[]> {
  const to = recipient === undefined ? sql`` : sql`and recipient = ${recipient}`
  return readRows(
    db,
    TRANSFER_ROW,
    sql`select ${TRANSFER_COLUMNS} from treasury_transfer where seller = ${seller} ${to}
      and state not in ('paid', 'returned') order by id desc limit ${limit}`,
  )
}

/** The payouts of a seller, newest first, before an id. */
export async function listPayouts(
  db: Database,
  seller: AccountId,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<TreasuryTransfer[]> {
  const before = page.before === undefined ? sql`` : sql`and id < ${page.before}`
  return readRows(
    db,
    TRANSFER_ROW,
    sql`select ${TRANSFER_COLUMNS} from treasury_transfer where seller = ${seller} ${before}
      order by id desc limit ${page.limit}`,
  )
}

/** A seller's payouts by recipient: the paid sum and the sum under way. */
const RECIPIENT_ROW = { recipient: TABLE.recipient, inFlight: bigint(), paid: bigint() }
export type RecipientSums = RowOf<typeof RECIPIENT_ROW>

export async function sumPayouts(db: Database, seller: AccountId): Promise<RecipientSums[]> {
  return readRows(
    db,
    RECIPIENT_ROW,
    sql`select recipient,
      coalesce(sum(amount) filter (where state not in ('paid', 'returned')), 0)::bigint as "inFlight",
      coalesce(sum(amount) filter (where state = 'paid'), 0)::bigint as paid
    from treasury_transfer where seller = ${seller} group by recipient order by recipient`,
  )
}
