import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import type { DebitState } from './tables/ledger.ts'
import { LEDGER_TABLES } from './tables/ledger.ts'

/** A debit that no call made: who pays how much, and the transaction it becomes. Amounts are signed micro-USD. */
export type Debit = {
  readonly key: string
  readonly account: AccountId
  readonly amount: bigint
  readonly tx: string
  readonly kind: string
  readonly note: string | null
  readonly entries: readonly { readonly account: AccountId; readonly amount: bigint }[]
  readonly state: DebitState
  /** Which hold of it is the present one, from 1. */
  readonly holdNumber: number
  readonly isFreed: boolean
}

const COLUMNS = sql`key, account, amount, tx, kind, note, entries, state, hold_number as "holdNumber",
  is_freed as "isFreed"`

const { ledger_debit } = LEDGER_TABLES
const DEBIT_ROW = {
  key: ledger_debit.key,
  account: ledger_debit.account,
  amount: ledger_debit.amount,
  tx: ledger_debit.tx,
  kind: ledger_debit.kind,
  note: ledger_debit.note,
  entries: ledger_debit.entries,
  state: ledger_debit.state,
  holdNumber: ledger_debit.hold_number,
  isFreed: ledger_debit.is_freed,
}
type Row = RowOf<typeof DEBIT_ROW>

function read(row: Row): Debit {
  return { ...row, entries: row.entries.map((line) => ({ ...line, amount: BigInt(line.amount) })) }
}

/** Writes a debit down unless its key is known; answers what stands there now. */
export async function intendDebit(
  db: Database,
  debit: Omit<Debit, 'state' | 'holdNumber' | 'isFreed'>,
): Promise<Debit | undefined> {
  const entries = JSON.stringify(debit.entries.map((line) => ({ ...line, amount: line.amount.toString() })))
  await sql`insert into ledger_debit (key, account, amount, tx, kind, note, entries)
    values (${debit.key}, ${debit.account}, ${debit.amount}, ${debit.tx}, ${debit.kind}, ${debit.note},
      ${entries}::jsonb)
    on conflict (key) do nothing`.execute(db)
  return findDebit(db, debit.key)
}

export async function findDebit(db: Database, key: string): Promise<Debit | undefined> {
  const rows = await readRows(db, DEBIT_ROW, sql`select ${COLUMNS} from ledger_debit where key = ${key}`)
  return rows.map(read).at(0)
}

/** The debit, locked until the end of the transaction. */
export async function lockDebit(trx: Trx, key: string): Promise<Debit | undefined> {
  const rows = await readRows(
    trx,
    DEBIT_ROW,
    sql`select ${COLUMNS} from ledger_debit where key = ${key} for no key update`,
  )
  return rows.map(read).at(0)
}

/** Sets the state of a debit; one that was posted stays so, and one that begins anew has a hold to give back again. */
export async function markDebit(db: Database | Trx, key: string, state: DebitState): Promise<void> {
  await sql`update ledger_debit set state = ${state}, changed_at = now(),
      is_freed = is_freed and ${state} <> 'intended'
    where key = ${key} and state <> 'posted'`.execute(db)
}

/** Goes on to the next hold, unless somebody else did; answers whether this caller did. */
export async function startNextHold(db: Database, key: string, holdNumber: number): Promise<boolean> {
  const { numAffectedRows } = await sql`update ledger_debit set hold_number = hold_number + 1, changed_at = now()
    where key = ${key} and hold_number = ${holdNumber} and state = 'intended'`.execute(db)
  return numAffectedRows === 1n
}

/** Notes that nothing is set aside any more for a finished debit. */
export async function markDebitFreed(db: Database, key: string): Promise<void> {
  await sql`update ledger_debit set is_freed = true where key = ${key} and state <> 'intended'`.execute(db)
}

/** Debits that were left between two steps for longer than so many milliseconds, oldest first. */
export async function listUnfinishedDebits(db: Database, olderThanMs: number, limit: number): Promise<Debit[]> {
  const rows = await readRows(
    db,
    DEBIT_ROW,
    sql`select ${COLUMNS} from ledger_debit
    where (state = 'intended' or not is_freed) and changed_at < now() - ${olderThanMs} * interval '1 millisecond'
    order by changed_at limit ${limit}`,
  )
  return rows.map(read)
}

/**
 * The newest epoch of the gate, which cannot be raised before the end of the transaction: what this transaction books is
 * in the balances that the next rebuild reads.
 */
export async function pinMoneyEpoch(trx: Trx): Promise<number> {
  const rows = await readRows(
    trx,
    { epoch: LEDGER_TABLES.money_epoch.epoch },
    sql`select epoch from money_epoch for share`,
  )
  return Number(rows[0]?.epoch ?? 0n)
}
