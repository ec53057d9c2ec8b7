import { sql } from 'kysely'
import { DAY } from '#shared/clock.ts'
import type { RequestId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import type { ChainPaymentState } from './tables/chain-payments.ts'
import { CHAIN_PAYMENT_TABLES } from './tables/chain-payments.ts'
import { bigint, boolean, integer, text, timestamp } from './tables/column.ts'
import type { CreditQuery } from './treasury-moves.ts'
import { wasCreditedBy, wasMovedBy } from './treasury-moves.ts'
import type { WalletUser } from './users.ts'
import { ensureUser } from './users.ts'

const TABLE = CHAIN_PAYMENT_TABLES.chain_payment
const ROW = {
  rid: TABLE.rid,
  rail: TABLE.rail,
  network: TABLE.network,
  asset: TABLE.asset,
  payer: TABLE.payer,
  nonce: TABLE.nonce,
  account: TABLE.account,
  amount: TABLE.amount,
  due: TABLE.due,
  charge: TABLE.charge,
  came: TABLE.came,
  event: TABLE.event,
  state: TABLE.state,
  payload: TABLE.payload,
  requirement: TABLE.requirement,
  bodyDigest: TABLE.body_digest,
  validUntil: TABLE.valid_until,
  serveUntil: TABLE.serve_until,
  transaction: TABLE.tx_hash,
  block: TABLE.block,
  reason: TABLE.reason,
  bookedAt: TABLE.booked_at,
  changedAt: TABLE.changed_at,
}
export type ChainPayment = RowOf<typeof ROW>
const COLUMNS = sql`rid, rail, network, asset, payer, nonce, account, amount, due, charge, came, event, state, payload,
  requirement, body_digest as "bodyDigest", valid_until as "validUntil", serve_until as "serveUntil",
  tx_hash as "transaction", block, reason, booked_at as "bookedAt", changed_at as "changedAt"`

export type NewChainPayment = Pick<
  ChainPayment,
  'rid' | 'rail' | 'network' | 'asset' | 'payer' | 'nonce' | 'account' | 'amount' | 'bodyDigest'
> & {
  readonly payload: object
  readonly requirement: object
  readonly validUntil: Date
  readonly serveUntil: Date
  /** True for a payer whose contract code checks its signatures. */
  readonly isContract: boolean
}

/** The constraint against a second payment for one call. */
export const ONE_PAYMENT_A_CALL = 'chain_payment_pkey'

/** Stores a payment. Returns false when its authorization is claimed already. */
export async function insertChainPayment(trx: Trx, payment: NewChainPayment): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('chain_payment')
    .values({
      rid: payment.rid,
      rail: payment.rail,
      network: payment.network,
      asset: payment.asset,
      payer: payment.payer,
      nonce: payment.nonce,
      account: payment.account,
      amount: payment.amount,
      payload: JSON.stringify(payment.payload),
      requirement: JSON.stringify(payment.requirement),
      body_digest: payment.bodyDigest,
      valid_until: payment.validUntil,
      serve_until: payment.serveUntil,
      is_contract: payment.isContract,
    })
    .onConflict((conflict) => conflict.columns(['network', 'asset', 'payer', 'nonce']).doNothing())
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

export type PaymentName = Pick<ChainPayment, 'network' | 'asset' | 'payer' | 'nonce'>

/** The payment of an authorization. */
export async function findChainPaymentOf(
  db: Database | Trx,
  { network, asset, payer, nonce }: PaymentName,
): Promise<ChainPayment | undefined> {
  const rows = await readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from chain_payment
      where network = ${network} and asset = ${asset} and payer = ${payer} and nonce = ${nonce}`,
  )
  return rows[0]
}

export async function findChainPayment(db: Database | Trx, rid: string): Promise<ChainPayment | undefined> {
  const rows = await readRows(db, ROW, sql`select ${COLUMNS} from chain_payment where rid = ${rid}`)
  return rows[0]
}

/** Reads a payment and locks it until the end of the transaction. */
export async function lockChainPayment(trx: Trx, rid: string): Promise<ChainPayment | undefined> {
  const rows = await readRows(trx, ROW, sql`select ${COLUMNS} from chain_payment where rid = ${rid} for no key update`)
  return rows[0]
}

export type PaymentChange = Partial<
  Pick<
    ChainPayment,
    'state' | 'due' | 'charge' | 'came' | 'event' | 'transaction' | 'block' | 'reason' | 'serveUntil'
  > & {
    /** Null, so that the payment is booked again. */
    readonly bookedAt: null
  }
>

/** Changes a locked payment. */
export async function changeChainPayment(trx: Trx, rid: RequestId, change: PaymentChange): Promise<void> {
  const { transaction, serveUntil, bookedAt, ...rest } = change
  await trx
    .updateTable('chain_payment')
    .set({
      ...rest,
      ...(transaction === undefined ? {} : { tx_hash: transaction }),
      ...(serveUntil === undefined ? {} : { serve_until: serveUntil }),
      ...(bookedAt === undefined ? {} : { booked_at: bookedAt }),
      // The instant of the change itself: a claim reads the changes since the chain was read.
      changed_at: sql`clock_timestamp()`,
    })
    .where('rid', '=', rid)
    .execute()
}

export async function markChainPaymentBooked(trx: Trx, rid: string): Promise<void> {
  await sql`update chain_payment set booked_at = now() where rid = ${rid} and booked_at is null`.execute(trx)
}

/** The most that a payer's open payments may amount to, and its debt for calls that it never paid. */
const EXPOSURE_ROW = {
  open: bigint(),
  owed: bigint(),
  unmoved: bigint(),
  all: bigint(),
  payments: integer(),
  fromAllowance: bigint(),
  permits: integer(),
  lost: bigint(),
}
export type Exposure = RowOf<typeof EXPOSURE_ROW>

/** Lets one transaction at a time decide the use of an authorization of a payer. */
export async function lockPayer(trx: Trx, payer: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${payer}, 8453))`.execute(trx)
}

async function listKnownChainPayments(db: Database, rids: readonly string[]): Promise<ReadonlySet<string>> {
  const rows = await readRows(
    db,
    { rid: TABLE.rid },
    sql`select rid from chain_payment where rid = any(${[...rids]}::text[])`,
  )
  return new Set(rows.map(({ rid }) => rid))
}

/** Open payments. */
export const IS_OPEN = sql`state in ('claimed', 'due', 'mined')`

/** A payment whose money may be under way. */
const MOVING_ROW = { rid: TABLE.rid, nonce: TABLE.nonce, state: TABLE.state }
export type MovingPayment = RowOf<typeof MOVING_ROW>

/** Most payments of one payer that are looked up on the chain. Every further one counts as not taken yet. */
const MOST_ASKED_ABOUT = 200

/** Payments whose money may be under way, and the instant of the list by the database's clock. */
export type MovingPayments = { readonly at: Date; readonly payments: readonly MovingPayment[] }

/** The payer's payments whose money may be under way, newest first. */
export async function listMovingChainPayments(db: Database, payer: string): Promise<MovingPayments> {
  // The instant is read first: a payment that ends later has ended since then.
  const [clock] = await readRows(db, { at: timestamp() }, sql`select clock_timestamp() as at`)
  if (clock === undefined) throw new Error('a clock without a time')
  const payments = await readRows(
    db,
    MOVING_ROW,
    sql`select rid, nonce, state from chain_payment where payer = ${payer} and ${IS_OPEN}
      order by changed_at desc limit ${MOST_ASKED_ABOUT}`,
  )
  return { at: clock.at, payments }
}

/** A payer's balance on the chain: the instant before the read, and the payments that had left it, by request id. */
export type PurseRead = { readonly at: Date; readonly moved: readonly string[] }

/** Milliseconds for which a write-off counts to the exposure. */
export const LOST_FOR_MS = DAY
/** The least amount of a write-off in the exposure: the gas of its transactions, in micro-USD. */
export const LEAST_LOSS_MICRO = 10_000n
const IS_LOST = sql`state = 'written_off' and cleared_at is null
  and changed_at > now() - make_interval(secs => ${LOST_FOR_MS / 1_000})`
const LOSS = sql`greatest(due - coalesce(came, 0), ${LEAST_LOSS_MICRO})`

/**
 * Reads a payer's exposure and blocks the payer's other claims until the end of the transaction. `unmoved` is the
 * amount that the payer's payments may still take from the balance that was read: open payments and those that ended
 * since, without the ones that the chain had moved by then. `fromAllowance` is the part that Permit2 takes, and
 * `permits` the number of payments with an EIP-2612 permit. `lost` is the recent unpaid amount of all payers.
 */
export async function lockExposure(trx: Trx, payer: string, { at, moved }: PurseRead): Promise<Exposure> {
  await lockPayer(trx, payer)
  const isUnmoved = sql`payer = ${payer} and state <> 'written_off' and not rid = any(${[...moved]}::text[])`
  const isFromAllowance = sql`${isUnmoved} and payload->'payload' ? 'permit2Authorization'`
  const rows = await readRows(
    trx,
    EXPOSURE_ROW,
    sql`select
        coalesce(sum(coalesce(due, amount)) filter (where payer = ${payer} and ${IS_OPEN}), 0)::bigint as open,
        coalesce(sum(due - coalesce(came, 0)) filter
          (where payer = ${payer} and state = 'written_off' and cleared_at is null), 0)::bigint as owed,
        coalesce(sum(amount) filter (where ${isUnmoved}), 0)::bigint as unmoved,
        coalesce(sum(amount) filter (where ${isFromAllowance}), 0)::bigint as "fromAllowance",
        (count(*) filter (where ${isFromAllowance}
          and payload #> '{extensions,eip2612GasSponsoring,info,signature}' is not null))::integer as permits,
        coalesce(sum(coalesce(due, amount)) filter (where ${IS_OPEN}), 0)::bigint as "all",
        coalesce(sum(${LOSS}) filter (where ${IS_LOST}), 0)::bigint as lost,
        (count(*) filter (where payer = ${payer} and state <> 'confirmed'))::integer as payments
      from (
        select * from chain_payment where ${IS_OPEN}
        union all select * from chain_payment where state = 'written_off' and (payer = ${payer} or ${IS_LOST})
        union all select * from chain_payment where state = 'confirmed' and payer = ${payer} and changed_at >= ${at}
      ) counted`,
  )
  const [exposure] = rows
  if (exposure === undefined) throw new Error('a sum without a row')
  return exposure
}

const CONTRACT_EXPOSURE_ROW = { all: bigint(), own: bigint(), unsettled: bigint() }
/** Exposure to contract wallets including the new claim, in micro-USD. */
export type ContractExposure = RowOf<typeof CONTRACT_EXPOSURE_ROW>

/** Most confirmed payments of one payer that count as its history, newest first. */
export const MOST_SETTLED = 1_000

/**
 * Reads the exposure to all contract wallets once `payer` has claimed `amount`. Call it under the lock of the payer's
 * exposure. `all` is their open and recently unpaid amount, each payment at {@link LEAST_LOSS_MICRO} or more.
 * `unsettled` is the sum of each payer's part beyond its confirmed payments, and `own` the claiming payer's part of
 * that sum. A history can be bought: a payer who pays its own seller gets it for the platform's fee.
 */
export async function readContractExposure(trx: Trx, payer: string, amount: bigint): Promise<ContractExposure> {
  // The planner assumes histories of average length. It would read and sort a longer one whole instead of using its
  // index.
  await sql`select set_config('enable_sort', 'off', true)`.execute(trx)
  const rows = await readRows(
    trx,
    CONTRACT_EXPOSURE_ROW,
    sql`select
        coalesce(sum(exposure), 0)::bigint as "all",
        coalesce(sum(greatest(exposure - settled, 0)) filter (where exposed.payer = ${payer}), 0)::bigint as own,
        coalesce(sum(greatest(exposure - settled, 0)), 0)::bigint as unsettled
      from (
        select payer, sum(greatest(micro, ${LEAST_LOSS_MICRO})) as exposure from (
          select payer, coalesce(due, amount) as micro from chain_payment where is_contract and ${IS_OPEN}
          union all select payer, ${LOSS} from chain_payment where is_contract and ${IS_LOST}
          union all select ${payer}, ${amount}
        ) counted group by payer
      ) exposed cross join lateral (
        select coalesce(sum(came), 0) as settled from (
          select came from chain_payment where payer = exposed.payer and state = 'confirmed'
          order by changed_at desc limit ${MOST_SETTLED}
        ) newest
      ) history`,
  )
  const [exposure] = rows
  if (exposure === undefined) throw new Error('a sum without a row')
  return exposure
}

/** Open payments that have not changed for some milliseconds, oldest first. */
export async function listOpenChainPayments(
  db: Database,
  states: readonly ChainPaymentState[],
  restingMs: number,
  limit: number,
): Promise<ChainPayment[]> {
  return readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from chain_payment where state = any(${[...states]}::text[])
      and changed_at <= now() - make_interval(secs => ${restingMs / 1_000}) order by changed_at limit ${limit}`,
  )
}

/** Payments with a verdict of the chain that are not booked. */
export const UNBOOKED_ENDS = sql`booked_at is null and state in ('confirmed', 'written_off')`
/** True while a payment that was claimed by an instant, in Unix milliseconds, may still be booked. */
export async function hasUnbookedClaims(trx: Trx, claimedBy: number): Promise<boolean> {
  const rows = await readRows(
    trx,
    { isOpen: boolean() },
    sql`select exists (select from chain_payment where claimed_at <= to_timestamp(${claimedBy}::float8 / 1000)
      and (${IS_OPEN} or (${UNBOOKED_ENDS}))) as "isOpen"`,
  )
  return rows[0]?.isOpen ?? false
}

/** Unbooked calls that cost nothing. */
export const UNBOOKED_RELEASES = sql`booked_at is null and state = 'released' and event is not null`
/** Payments that were written off without any money, and that may still arrive. */
export const UNSOUGHT = sql`state = 'written_off' and came is null and sought_at is null`

/**
 * Payments whose money can be booked: the chain has decided, and the call has reported its charge or is long over.
 * Payments of free calls have no money, but their calls are booked, too.
 */
export async function listUnbookedChainPayments(
  db: Database,
  overdueMs: number,
  limit: number,
): Promise<ChainPayment[]> {
  return readRows(
    db,
    ROW,
    sql`(select ${COLUMNS} from chain_payment where ${UNBOOKED_ENDS}
        and (event is not null or serve_until < now() - make_interval(secs => ${overdueMs / 1_000}))
        order by changed_at limit ${limit})
      union all (select ${COLUMNS} from chain_payment where ${UNBOOKED_RELEASES} order by changed_at limit ${limit})`,
  )
}

/** The {@link UNSOUGHT}, oldest first. */
export async function listWrittenOffChainPayments(db: Database, limit: number): Promise<ChainPayment[]> {
  return readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from chain_payment where ${UNSOUGHT} order by valid_until limit ${limit}`,
  )
}

/** Notes that a payment was looked for after its time, and has not arrived. */
export async function markChainPaymentSought(trx: Trx, rid: string): Promise<void> {
  await sql`update chain_payment set sought_at = now() where rid = ${rid} and state = 'written_off'`.execute(trx)
}

/** The treasury's receipt for a payment's authorization, once its blocks were read. */
export type Arrival = { readonly transaction: string; readonly amount: bigint }

export async function findPaymentArrival(trx: Trx, rid: string): Promise<Arrival | undefined> {
  const rows = await readRows(
    trx,
    { transaction: text(), amount: bigint() },
    sql`select tx_hash as "transaction", amount from treasury_move
      where ref = ${rid} and kind = 'payment' and direction = 'in' limit 1`,
  )
  return rows[0]
}

/** Reads of payments by wallet. */
export type ChainPaymentReads = {
  find(rid: string): Promise<ChainPayment | undefined>
  /** The payments of some calls. */
  listKnown(rids: readonly string[]): Promise<ReadonlySet<string>>
  /** The payment of an authorization. */
  findOf(authorization: PaymentName): Promise<ChainPayment | undefined>
  /** The payer's payments whose money may be under way; see {@link listMovingChainPayments}. */
  listMoving(payer: string): Promise<MovingPayments>
  /** Payments in some states that have not changed for this many milliseconds, oldest first. */
  listOpen(states: readonly ChainPaymentState[], restingMs: number, limit: number): Promise<ChainPayment[]>
  /** Payments whose money can be booked; see {@link listUnbookedChainPayments}. */
  listUnbooked(overdueMs: number, limit: number): Promise<ChainPayment[]>
  /** Payments that were written off whole and may still arrive, oldest first. */
  listWrittenOff(limit: number): Promise<ChainPayment[]>
}

export function chainPaymentReads(db: Database): ChainPaymentReads {
  return {
    find: (rid) => findChainPayment(db, rid),
    listKnown: (rids) => listKnownChainPayments(db, rids),
    findOf: (authorization) => findChainPaymentOf(db, authorization),
    listMoving: (payer) => listMovingChainPayments(db, payer),
    listOpen: (states, restingMs, limit) => listOpenChainPayments(db, states, restingMs, limit),
    listUnbooked: (overdueMs, limit) => listUnbookedChainPayments(db, overdueMs, limit),
    listWrittenOff: (limit) => listWrittenOffChainPayments(db, limit),
  }
}

/** Reads and writes of payments inside a transaction of the ledger. */
export type ChainPaymentRows = {
  lock(rid: string): Promise<ChainPayment | undefined>
  /** Returns false when the payment's authorization is claimed already. */
  insert(payment: NewChainPayment): Promise<boolean>
  /** True when the authorization has already moved money here. Call it under the lock of the payer's exposure. */
  wasMoved(authorization: PaymentName): Promise<boolean>
  /** True when that money was credited as a deposit. */
  wasCredited(query: CreditQuery): Promise<boolean>
  /** Changes a locked payment. */
  change(rid: RequestId, change: PaymentChange): Promise<void>
  markBooked(rid: string): Promise<void>
  /** Notes that a payment was looked for after its time, and has not arrived. */
  markSought(rid: string): Promise<void>
  /** The treasury's receipt for a locked payment's authorization. */
  findArrival(rid: string): Promise<Arrival | undefined>
  /** Blocks other claims of the payer until the end of the transaction. */
  lockPayer(payer: string): Promise<void>
  /** Reads a payer's exposure and blocks the payer's other claims until the end of the transaction. */
  lockExposure(payer: string, purse: PurseRead): Promise<Exposure>
  /** Reads the exposure to contract wallets including a claim; see {@link readContractExposure}. */
  readContractExposure(payer: string, amount: bigint): Promise<ContractExposure>
  /** Finds the payer's user, or adds `fresh`. Undefined when a concurrent transaction has just added one. */
  ensureUser(fresh: WalletUser, at: number): Promise<WalletUser | undefined>
}

export function chainPaymentRows(trx: Trx): ChainPaymentRows {
  return {
    lock: (rid) => lockChainPayment(trx, rid),
    insert: (payment) => insertChainPayment(trx, payment),
    wasMoved: (authorization) => wasMovedBy(trx, authorization),
    wasCredited: (query) => wasCreditedBy(trx, query),
    change: (rid, change) => changeChainPayment(trx, rid, change),
    markBooked: (rid) => markChainPaymentBooked(trx, rid),
    markSought: (rid) => markChainPaymentSought(trx, rid),
    findArrival: (rid) => findPaymentArrival(trx, rid),
    lockPayer: (payer) => lockPayer(trx, payer),
    lockExposure: (payer, purse) => lockExposure(trx, payer, purse),
    readContractExposure: (payer, amount) => readContractExposure(trx, payer, amount),
    ensureUser: (fresh, at) => ensureUser(trx, fresh, at),
  }
}
