import { sql } from 'kysely'
import type { AccountId, DepositId, DrawId, PermitId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import type { PermitState } from './tables/allowances.ts'
import { ALLOWANCE_TABLES } from './tables/allowances.ts'
import { integer } from './tables/column.ts'
import type { Purse } from './treasury-moves.ts'

const DRAW = ALLOWANCE_TABLES.allowance_draw
const DRAW_ROW = {
  id: DRAW.id,
  account: DRAW.account,
  wallet: DRAW.wallet,
  amount: DRAW.amount,
  chainId: DRAW.chain_id,
  asset: DRAW.asset,
  treasury: DRAW.treasury,
  state: DRAW.state,
  reason: DRAW.reason,
  deposit: DRAW.deposit,
  transaction: DRAW.tx_hash,
  block: DRAW.block,
  plannedAt: DRAW.planned_at,
}
/** A transfer from a wallet to the treasury in one transaction. */
export type AllowanceDraw = RowOf<typeof DRAW_ROW>
const DRAW_COLUMNS = sql`id, account, wallet, amount, chain_id as "chainId", asset, treasury, state, reason, deposit,
  tx_hash as "transaction", block, planned_at as "plannedAt"`

export async function insertDraw(
  trx: Trx,
  { chainId, asset, treasury }: Purse,
  draw: Pick<AllowanceDraw, 'id' | 'account' | 'wallet' | 'amount'>,
): Promise<void> {
  await trx
    .insertInto('allowance_draw')
    .values({ ...draw, chain_id: BigInt(chainId), asset, treasury })
    .execute()
}

export async function findDraw(db: Database | Trx, id: string): Promise<AllowanceDraw | undefined> {
  const rows = await readRows(db, DRAW_ROW, sql`select ${DRAW_COLUMNS} from allowance_draw where id = ${id}`)
  return rows[0]
}

/** Reads a draw and locks it until the end of the transaction. */
export async function lockDraw(trx: Trx, id: string): Promise<AllowanceDraw | undefined> {
  const rows = await readRows(
    trx,
    DRAW_ROW,
    sql`select ${DRAW_COLUMNS} from allowance_draw where id = ${id} for no key update`,
  )
  return rows[0]
}

/** Open draws, oldest first. */
export async function listOpenDraws(db: Database, limit: number): Promise<AllowanceDraw[]> {
  return readRows(
    db,
    DRAW_ROW,
    sql`select ${DRAW_COLUMNS} from allowance_draw where state in ('planned', 'approved') order by id limit ${limit}`,
  )
}

/** The draws of an account, newest first. */
export async function listDraws(db: Database | Trx, account: AccountId, limit: number): Promise<AllowanceDraw[]> {
  return readRows(
    db,
    DRAW_ROW,
    sql`select ${DRAW_COLUMNS} from allowance_draw where account = ${account} order by id desc limit ${limit}`,
  )
}

export async function changeDraw(
  trx: Trx,
  id: DrawId,
  change: Pick<AllowanceDraw, 'state'> & Partial<Pick<AllowanceDraw, 'reason'>>,
): Promise<void> {
  await trx
    .updateTable('allowance_draw')
    .set({ ...change, changed_at: sql`now()` })
    .where('id', '=', id)
    .execute()
}

/**
 * Gives up draws that are in no transaction of the books, for a reason. A later draw collects their debt. Returns their
 * number.
 */
export async function failUnsentDraws(trx: Trx, reason: string): Promise<bigint> {
  const { numAffectedRows } =
    await sql`update allowance_draw d set state = 'failed', reason = ${reason}, changed_at = now()
    where state in ('planned', 'approved') and not exists (
      select from chain_transaction t where t.ref = 'draw ' || d.id and t.dead_at is null)`.execute(trx)
  return numAffectedRows ?? 0n
}

type Landing = { readonly deposit: DepositId; readonly transaction: string; readonly block: bigint }

/** Notes that the tokens of a draw arrived, and the deposit that credited them. */
export async function settleDraw(trx: Trx, id: DrawId, { deposit, transaction, block }: Landing): Promise<void> {
  await sql`update allowance_draw set state = 'settled', reason = null, deposit = ${deposit}, tx_hash = ${transaction},
    block = ${block}, changed_at = now() where id = ${id}`.execute(trx)
}

const PERMIT = ALLOWANCE_TABLES.allowance_permit
const PERMIT_ROW = {
  id: PERMIT.id,
  account: PERMIT.account,
  wallet: ALLOWANCE_TABLES.allowance_line.wallet,
  value: PERMIT.value,
  nonce: PERMIT.nonce,
  deadline: PERMIT.deadline,
  signature: PERMIT.signature,
  state: PERMIT.state,
}
type PermitRow = RowOf<typeof PERMIT_ROW>
/** A permit that a wallet signed for the treasury. */
export type AllowancePermit = Omit<PermitRow, 'value' | 'nonce'> & { readonly value: bigint; readonly nonce: bigint }
const PERMIT_COLUMNS = sql`p.id, p.account, l.wallet, p.value::text as value, p.nonce::text as nonce, p.deadline,
  p.signature, p.state`
const PERMITS = sql`allowance_permit p join allowance_line l on l.account = p.account`
const readPermit = ({ value, nonce, ...row }: PermitRow): AllowancePermit => ({
  ...row,
  value: BigInt(value),
  nonce: BigInt(nonce),
})

export async function insertPermit(
  trx: Trx,
  { value, nonce, ...permit }: Pick<AllowancePermit, 'id' | 'account' | 'value' | 'nonce' | 'deadline' | 'signature'>,
): Promise<void> {
  await trx
    .insertInto('allowance_permit')
    .values({ ...permit, value: value.toString(), nonce: nonce.toString() })
    .execute()
}

/** Open permits, oldest first. */
export async function listSignedPermits(db: Database, limit: number): Promise<AllowancePermit[]> {
  const rows = await readRows(
    db,
    PERMIT_ROW,
    sql`select ${PERMIT_COLUMNS} from ${PERMITS} where p.state = 'signed' order by p.id limit ${limit}`,
  )
  return rows.map(readPermit)
}

/** The newest permit of an account. */
export async function findNewestPermit(db: Database | Trx, account: AccountId): Promise<AllowancePermit | undefined> {
  const rows = await readRows(
    db,
    PERMIT_ROW,
    sql`select ${PERMIT_COLUMNS} from ${PERMITS} where p.account = ${account} order by p.id desc limit 1`,
  )
  return rows.map(readPermit)[0]
}

/** The number of permits that an account has submitted since an instant. */
export async function countPermits(trx: Trx, account: AccountId, since: Date): Promise<number> {
  const rows = await readRows(
    trx,
    { count: integer() },
    sql`select count(*)::int as count from allowance_permit where account = ${account} and signed_at > ${since}`,
  )
  return rows[0]?.count ?? 0
}

/** Ends a permit, and schedules a read of the chain for its line. */
export async function endPermit(trx: Trx, id: PermitId, state: Exclude<PermitState, 'signed'>): Promise<void> {
  await sql`update allowance_permit set state = ${state}, changed_at = now() where id = ${id}`.execute(trx)
  await sql`update allowance_line set read_at = null where account = (
    select account from allowance_permit where id = ${id})`.execute(trx)
}
