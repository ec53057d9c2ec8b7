import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, integer, nullable, oneOf, timestamp } from './tables/column.ts'
import type { Purse } from './treasury-moves.ts'
import { ofChain, ofPurse } from './treasury-moves.ts'
import type { TreasuryTransfer } from './treasury-transfers.ts'
import { TRANSFER_COLUMNS, TRANSFER_ROW } from './treasury-transfers.ts'

/** The kinds of money under way on a chain that is gone, each with its number and its sum in micro-USD. */
export const UNDER_WAY = ['payout', 'sweep', 'draw', 'deposit', 'permit', 'transfer', 'payment'] as const

const ROW = { what: oneOf(UNDER_WAY), count: integer(), amount: bigint() }
export type UnderWay = RowOf<typeof ROW>

const isOpenMove = (purse: Purse) => sql`${ofChain(purse)} and kind in ('new', 'unknown')`

/**
 * Lists the money under way on the chain of a purse: signed payouts, draws, deposits, permits and unbooked transfers.
 */
export async function listUnderWay(db: Database, purse: Purse): Promise<UnderWay[]> {
  const { chainId, asset } = purse
  const sums = sql`count(*)::int as count, coalesce(sum(amount), 0)::bigint as amount`
  return readRows(
    db,
    ROW,
    sql`select purpose as what, ${sums} from treasury_transfer
        where state in ('signed', 'mined') and ${ofPurse(purse)} group by purpose
      union all select 'draw', ${sums} from allowance_draw where state in ('planned', 'approved') and ${ofPurse(purse)}
      union all select 'deposit', ${sums} from deposit where state = 'signed' and ${ofPurse(purse)}
      union all select 'permit', count(*)::int, 0 from allowance_permit p join allowance_line l on l.account = p.account
        where p.state = 'signed' and ${ofPurse(purse)}
      union all select 'transfer', ${sums} from treasury_move where ${isOpenMove(purse)}
      union all select 'payment', count(*)::int, coalesce(sum(due), 0)::bigint from chain_payment
        where state in ('due', 'mined') and network = 'eip155:' || ${chainId}::bigint and asset = ${asset}`,
  )
}

/** The expiry of the latest signature that may move money out of a treasury, if it is after an instant. */
export async function findSignedUntil(db: Database, purse: Purse, after: Date): Promise<Date | undefined> {
  const rows = await readRows(
    db,
    { at: nullable(timestamp()) },
    sql`select max(valid_until) as at from treasury_transfer where valid_until > ${after} and ${ofPurse(purse)}`,
  )
  return rows[0]?.at ?? undefined
}

/** Transfers that were signed for a treasury and are not final, oldest first. */
export async function listSignedTransfers(db: Database, purse: Purse, limit: number): Promise<TreasuryTransfer[]> {
  return readRows(
    db,
    TRANSFER_ROW,
    sql`select ${TRANSFER_COLUMNS} from treasury_transfer where state in ('signed', 'mined') and ${ofPurse(purse)}
      order by id limit ${limit}`,
  )
}

/**
 * Ends the work under way on a chain that is gone, for a reason: draws fail and their debt stays, signed deposits and
 * permits are refused, and unbooked transfers stay with a person. Wallets are read again. Signed payouts are searched
 * from the first block on.
 */
export async function orphanUnderWay(trx: Trx, purse: Purse, reason: string): Promise<void> {
  // Lines are locked before their draws, in the usual order.
  await sql`update allowance_line set read_at = null, retry_at = null where ${ofPurse(purse)}`.execute(trx)
  await sql`update allowance_draw set state = 'failed', reason = ${reason}, changed_at = now()
    where state in ('planned', 'approved') and ${ofPurse(purse)}`.execute(trx)
  await sql`update allowance_permit p set state = 'refused', changed_at = now() from allowance_line l
    where l.account = p.account and p.state = 'signed' and ${ofPurse(purse)}`.execute(trx)
  await sql`update deposit set state = 'refused', reason = ${reason}, changed_at = now()
    where state = 'signed' and ${ofPurse(purse)}`.execute(trx)
  await sql`update treasury_move set kind = 'unknown', ref = null, reason = ${reason}, changed_at = now()
    where ${isOpenMove(purse)}`.execute(trx)
  await sql`update treasury_transfer set signed_at_block = 0
    where signature is not null and ended_at is null and ${ofPurse(purse)}`.execute(trx)
  await sql`update stray_token set last_block = 0
    where chain_id = ${purse.chainId} and treasury = ${purse.treasury}`.execute(trx)
}

export type Era = {
  readonly firstBlock: bigint
  /** The treasury's balance before that block, in micro-USD. */
  readonly opening: bigint
  /** The block to remember. */
  readonly anchor: { readonly block: bigint; readonly hash: string }
}

/** Begins to read another chain of the same id at a block. Its sums include no move of the old chain. */
export async function beginEra(trx: Trx, purse: Purse, { firstBlock, opening, anchor }: Era): Promise<void> {
  await sql`update treasury_cursor set era = era + 1, era_at = now(), first_block = ${firstBlock}, opening = ${opening},
    next_block = ${firstBlock}, balance = ${opening}, proven_block = ${firstBlock - 1n}, proven_at = now(),
    proven_hash = null, misses = 0, difference = 0, missing_since = null, reread_at = null, anchor_block = ${anchor.block}, anchor_hash = ${anchor.hash},
    strange_since = null where ${ofPurse(purse)}`.execute(trx)
}
