import { sql } from 'kysely'
import type { AccountId, DepositId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { integer } from './tables/column.ts'
import { DEPOSIT_TABLES } from './tables/deposits.ts'
import type { Purse } from './treasury-moves.ts'

const TABLE = DEPOSIT_TABLES.deposit
const ROW = {
  id: TABLE.id,
  account: TABLE.account,
  method: TABLE.method,
  sender: TABLE.sender,
  amount: TABLE.amount,
  state: TABLE.state,
  reason: TABLE.reason,
  chainId: TABLE.chain_id,
  asset: TABLE.asset,
  treasury: TABLE.treasury,
  nonce: TABLE.nonce,
  validUntil: TABLE.valid_until,
  signature: TABLE.signature,
  transaction: TABLE.tx_hash,
  block: TABLE.block,
  openedAt: TABLE.opened_at,
  creditedAt: TABLE.credited_at,
}
export type Deposit = RowOf<typeof ROW>
const COLUMNS = sql`id, account, method, sender, amount, state, reason, chain_id as "chainId", asset, treasury, nonce,
  valid_until as "validUntil", signature, tx_hash as "transaction", block, opened_at as "openedAt",
  credited_at as "creditedAt"`

export type NewDeposit = {
  readonly id: DepositId
  readonly account: AccountId
  readonly sender: string
  readonly amount: bigint
  readonly nonce: `0x${string}`
  readonly validUntil: Date
}

/** Stores a deposit that waits for the signature of its authorization. */
export async function insertDeposit(trx: Trx, { chainId, asset, treasury }: Purse, deposit: NewDeposit): Promise<void> {
  const { validUntil, ...rest } = deposit
  await trx
    .insertInto('deposit')
    .values({
      ...rest,
      method: 'authorization',
      state: 'opened',
      valid_until: validUntil,
      chain_id: BigInt(chainId),
      asset,
      treasury,
    })
    .execute()
}

export type DepositArrival = {
  readonly id: DepositId
  readonly account: AccountId
  /** By the wallet's own transfer, or by a draw from it. */
  readonly method: 'transfer' | 'allowance'
  readonly sender: string
  readonly amount: bigint
  readonly transaction: string
  readonly block: bigint
}

/** Stores a transfer without a prior deposit, which is credited at once. */
export async function insertArrival(
  trx: Trx,
  { chainId, asset, treasury }: Purse,
  arrival: DepositArrival,
): Promise<void> {
  const { transaction, ...rest } = arrival
  await trx
    .insertInto('deposit')
    .values({
      ...rest,
      state: 'credited',
      tx_hash: transaction,
      credited_at: sql`now()`,
      chain_id: BigInt(chainId),
      asset,
      treasury,
    })
    .execute()
}

export async function findDeposit(db: Database | Trx, id: string): Promise<Deposit | undefined> {
  const rows = await readRows(db, ROW, sql`select ${COLUMNS} from deposit where id = ${id}`)
  return rows[0]
}

/** Reads a deposit and locks it until the end of the transaction. */
export async function lockDeposit(trx: Trx, id: string): Promise<Deposit | undefined> {
  const rows = await readRows(trx, ROW, sql`select ${COLUMNS} from deposit where id = ${id} for no key update`)
  return rows[0]
}

/** Finds and locks the deposit whose authorization has a nonce. */
export async function lockDepositByNonce(trx: Trx, nonce: string): Promise<Deposit | undefined> {
  const rows = await readRows(trx, ROW, sql`select ${COLUMNS} from deposit where nonce = ${nonce} for no key update`)
  return rows[0]
}

/** The deposits of an account, newest first, before an id. */
export async function listDeposits(
  db: Database,
  account: AccountId,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<Deposit[]> {
  const before = page.before === undefined ? sql`` : sql`and id < ${page.before}`
  return readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from deposit where account = ${account} ${before} order by id desc limit ${page.limit}`,
  )
}

/** The number of an account's deposits that wait for their money. */
export async function countOpenDeposits(trx: Trx, account: AccountId): Promise<number> {
  const rows = await readRows(
    trx,
    { count: integer() },
    sql`select count(*)::int as count from deposit where account = ${account} and state in ('opened', 'signed')`,
  )
  return rows[0]?.count ?? 0
}

/** Signed deposits whose money has not arrived, oldest first. */
export async function listSignedDeposits(db: Database, purse: Purse, limit: number): Promise<Deposit[]> {
  return readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from deposit where state = 'signed' and chain_id = ${purse.chainId}
      and asset = ${purse.asset} and treasury = ${purse.treasury} order by id limit ${limit}`,
  )
}

export async function changeDeposit(
  trx: Trx,
  id: DepositId,
  change: Partial<Pick<Deposit, 'state' | 'reason' | 'signature'>>,
): Promise<void> {
  await trx
    .updateTable('deposit')
    .set({ ...change, changed_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

/** Notes the money that arrived by an authorization. */
export async function markDepositCredited(
  trx: Trx,
  id: DepositId,
  { amount, transaction, block }: Pick<DepositArrival, 'amount' | 'transaction' | 'block'>,
): Promise<void> {
  await sql`update deposit set state = 'credited', amount = ${amount}, reason = null, tx_hash = ${transaction},
    block = ${block}, credited_at = now(), changed_at = now() where id = ${id}`.execute(trx)
}

/** Ends deposits whose authorization had expired at an instant up to which the chain was read. Returns their number. */
export async function expireDeposits(db: Database, purse: Purse, before: Date): Promise<bigint> {
  const { numAffectedRows } = await sql`update deposit set state = 'expired', reason = coalesce(reason, 'not_used'),
      changed_at = now()
    where state in ('opened', 'signed') and valid_until <= ${before} and chain_id = ${purse.chainId}
      and asset = ${purse.asset} and treasury = ${purse.treasury}`.execute(db)
  return numAffectedRows ?? 0n
}
