import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { openAccount } from './accounts.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { ALLOWANCE_TABLES } from './tables/allowances.ts'
import { bigint } from './tables/column.ts'
import type { Purse } from './treasury-moves.ts'

const LINE = ALLOWANCE_TABLES.allowance_line
const ROW = {
  account: LINE.account,
  wallet: LINE.wallet,
  advance: LINE.advance,
  chainId: LINE.chain_id,
  asset: LINE.asset,
  treasury: LINE.treasury,
  state: LINE.state,
  reason: LINE.reason,
  balance: LINE.balance,
  allowance: LINE.allowance,
  readAt: LINE.read_at,
  owedSince: LINE.owed_since,
  failures: LINE.failures,
  retryAt: LINE.retry_at,
  openedAt: LINE.opened_at,
  /**
   * The account's balance in the books, the advanced part of it, and the amount that an open draw takes from the
   * wallet.
   */
  posted: bigint(),
  advanced: bigint(),
  drawing: bigint(),
}
type Row = RowOf<typeof ROW>

/** An account that pays from its wallet, with the last reading of the chain and its state in the books. */
export type AllowanceLine = Omit<Row, 'balance' | 'allowance'> & {
  readonly balance: bigint | null
  readonly allowance: bigint | null
}

const COLUMNS = sql`l.account, l.wallet, l.advance, l.chain_id as "chainId", l.asset, l.treasury, l.state, l.reason,
  l.balance::text as balance, l.allowance::text as allowance, l.read_at as "readAt", l.owed_since as "owedSince",
  l.failures, l.retry_at as "retryAt", l.opened_at as "openedAt", own.balance as posted, -lent.balance as advanced,
  coalesce((select d.amount from allowance_draw d where d.account = l.account and d.state in ('planned', 'approved')), 0)
    as drawing`
const FROM = sql`allowance_line l join account own on own.id = l.account join account lent on lent.id = l.advance`
/** True for an account that spent more than its own money. */
const OWES = sql`own.balance < -lent.balance`

const read = ({ balance, allowance, ...row }: Row): AllowanceLine => ({
  ...row,
  balance: balance === null ? null : BigInt(balance),
  allowance: allowance === null ? null : BigInt(allowance),
})

export async function findLine(db: Database | Trx, account: AccountId): Promise<AllowanceLine | undefined> {
  const rows = await readRows(db, ROW, sql`select ${COLUMNS} from ${FROM} where l.account = ${account}`)
  return rows.map(read)[0]
}

/** Locks a line and its draws until the end of the transaction, and reads the line. */
export async function lockLine(trx: Trx, account: AccountId): Promise<AllowanceLine | undefined> {
  await sql`select from allowance_line where account = ${account} for no key update`.execute(trx)
  return findLine(trx, account)
}

/** Opens the line of an account, or opens it again. `advance` is the id for a missing advance account. */
export async function openLine(
  trx: Trx,
  { chainId, asset, treasury }: Purse,
  {
    account,
    wallet,
    advance,
    owner,
  }: Readonly<Record<'account' | 'advance', AccountId> & Record<'wallet' | 'owner', string>>,
): Promise<void> {
  if ((await lockLine(trx, account)) === undefined) {
    await openAccount(trx, { id: advance, kind: 'wallet_advance', owner })
    await trx
      .insertInto('allowance_line')
      .values({ account, wallet, advance, chain_id: BigInt(chainId), asset, treasury })
      .execute()
    return
  }
  await sql`update allowance_line set state = 'open', reason = null, chain_id = ${chainId}, asset = ${asset},
    treasury = ${treasury}, read_at = null, retry_at = null, changed_at = now() where account = ${account}`.execute(trx)
}

export type LineChange = Partial<
  Pick<AllowanceLine, 'state' | 'reason' | 'balance' | 'allowance' | 'readAt' | 'failures' | 'retryAt'>
>

export async function changeLine(trx: Trx, account: AccountId, change: LineChange): Promise<void> {
  const { balance, allowance, readAt, retryAt, ...rest } = change
  await trx
    .updateTable('allowance_line')
    .set({
      ...rest,
      ...(balance === undefined ? {} : { balance: balance?.toString() ?? null }),
      ...(allowance === undefined ? {} : { allowance: allowance?.toString() ?? null }),
      ...(readAt === undefined ? {} : { read_at: readAt }),
      ...(retryAt === undefined ? {} : { retry_at: retryAt }),
      changed_at: sql`now()`,
    })
    .where('account', '=', account)
    .execute()
}

/** Records the time since which accounts owe, and clears that time for the other accounts. */
export async function markOwing(db: Database, now: Date): Promise<void> {
  await sql`update allowance_line line set owed_since = case when found.owes then ${now}::timestamptz end
    from (select l.account, ${OWES} as owes from ${FROM}) found
    where found.account = line.account and found.owes <> (line.owed_since is not null)`.execute(db)
}

export type TendOrder = {
  readonly now: Date
  readonly readBefore: Date
  /** The debt from which, and the age after which, a draw is due. */
  readonly batchMicro: bigint
  readonly owedBefore: Date
  readonly limit: number
}

/**
 * Lines whose wallet has to be read, the longest unread first: the reading is old, a draw is due, or a line that is not
 * open has credit to give back.
 */
export async function listLinesToTend(db: Database, tendOrder: TendOrder): Promise<AllowanceLine[]> {
  const { now, readBefore, batchMicro, owedBefore, limit } = tendOrder
  const rows = await readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from ${FROM}
      where ((l.read_at is null or l.read_at < ${readBefore}) and (l.state <> 'closed' or lent.balance < 0))
        or (l.state <> 'open' and lent.balance < 0 and own.balance > 0)
        or (${OWES} and (l.retry_at is null or l.retry_at <= ${now})
          and (-lent.balance - own.balance >= ${batchMicro} or l.owed_since <= ${owedBefore} or l.state <> 'open')
          and not exists (select from allowance_draw d where d.account = l.account and d.state in ('planned', 'approved')))
      order by l.read_at nulls first limit ${limit}`,
  )
  return rows.map(read)
}

/** Lines whose wallets owe, and stopped lines, the largest debt first. */
export async function listOwingLines(db: Database, limit: number): Promise<AllowanceLine[]> {
  const rows = await readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from ${FROM} where ${OWES} or l.state = 'stopped'
      order by -lent.balance - own.balance desc, l.account limit ${limit}`,
  )
  return rows.map(read)
}

/** The sum of all advances that were not taken back. */
export async function sumAdvanced(db: Database | Trx): Promise<bigint> {
  const rows = await readRows(
    db,
    { total: bigint() },
    sql`select coalesce(-sum(balance), 0)::bigint as total from account where kind = 'wallet_advance' and balance < 0`,
  )
  return rows[0]?.total ?? 0n
}
