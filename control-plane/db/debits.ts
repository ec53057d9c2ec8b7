import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import type { TransactionKind } from '#shared/ledger/transaction-kinds.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import type { DebitState } from './tables/ledger.ts'
import { LEDGER_TABLES } from './tables/ledger.ts'
import type { AuditNote } from './tables/operations.ts'

/** A debit without a call: its payer and amount, and the transaction to book. Amounts are signed micro-USD. */
export type Debit = {
  readonly key: string
  readonly account: AccountId
  readonly amount: bigint
  readonly tx: string
  readonly kind: TransactionKind
  readonly note: string | null
  readonly entries: readonly { readonly account: AccountId; readonly amount: bigint }[]
  /** The audit row of the posting. */
  readonly audit: AuditNote
  readonly state: DebitState
  /** The number of the present hold, from 1. */
  readonly holdNumber: number
  readonly isFreed: boolean
}

const COLUMNS = sql`key, account, amount, tx, kind, note, entries, audit, state, hold_number as "holdNumber",
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
  audit: ledger_debit.audit,
  state: ledger_debit.state,
  holdNumber: ledger_debit.hold_number,
  isFreed: ledger_debit.is_freed,
}
type Row = RowOf<typeof DEBIT_ROW>

function read(row: Row): Debit {
  return { ...row, entries: row.entries.map((line) => ({ ...line, amount: BigInt(line.amount) })) }
}

/** A debit before it is stored. */
export type NewDebit = Omit<Debit, 'state' | 'holdNumber' | 'isFreed'>

/** Stores a debit. Waits for a concurrent transaction. Returns false when the key has a debit. */
export async function intendDebit(db: Database | Trx, debit: NewDebit): Promise<boolean> {
  const entries = JSON.stringify(debit.entries.map((line) => ({ ...line, amount: line.amount.toString() })))
  const { numAffectedRows } = await sql`insert into ledger_debit (key, account, amount, tx, kind, note, entries, audit)
    values (${debit.key}, ${debit.account}, ${debit.amount}, ${debit.tx}, ${debit.kind}, ${debit.note},
      ${entries}::jsonb, ${JSON.stringify(debit.audit)}::jsonb)
    on conflict (key) do nothing`.execute(db)
  return numAffectedRows === 1n
}

export async function findDebit(db: Database, key: string): Promise<Debit | undefined> {
  const rows = await readRows(db, DEBIT_ROW, sql`select ${COLUMNS} from ledger_debit where key = ${key}`)
  return rows.map(read).at(0)
}

/** Reads the debit and locks it until the end of the transaction. */
export async function lockDebit(trx: Trx, key: string): Promise<Debit | undefined> {
  const rows = await readRows(
    trx,
    DEBIT_ROW,
    sql`select ${COLUMNS} from ledger_debit where key = ${key} for no key update`,
  )
  return rows.map(read).at(0)
}

/** Ends a debit under way. Returns false when it has ended already. */
export async function endDebit(trx: Trx, key: string, state: Exclude<DebitState, 'intended'>): Promise<boolean> {
  const { numAffectedRows } = await sql`update ledger_debit set state = ${state}, changed_at = now()
    where key = ${key} and state = 'intended'`.execute(trx)
  return numAffectedRows === 1n
}

/**
 * Begins a refused debit anew, with the audit row of the present caller. The debit then has a hold that must be freed
 * again.
 */
export async function renewDebit(trx: Trx, { key, audit }: Pick<Debit, 'key' | 'audit'>): Promise<void> {
  await sql`update ledger_debit set state = 'intended', changed_at = now(), is_freed = false,
      audit = ${JSON.stringify(audit)}::jsonb
    where key = ${key} and state = 'refused'`.execute(trx)
}

/** Starts the next hold, unless another caller did. Returns true when this caller started it. */
export async function startNextHold(db: Database, key: string, holdNumber: number): Promise<boolean> {
  const { numAffectedRows } = await sql`update ledger_debit set hold_number = hold_number + 1, changed_at = now()
    where key = ${key} and hold_number = ${holdNumber} and state = 'intended'`.execute(db)
  return numAffectedRows === 1n
}

/** Records that the hold of a finished debit has been freed. */
export async function markDebitFreed(db: Database, key: string): Promise<void> {
  await sql`update ledger_debit set is_freed = true where key = ${key} and state <> 'intended'`.execute(db)
}

/** Debits that stopped between two steps more than `olderThanMs` milliseconds ago, oldest first. */
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
 * Returns the newest epoch of the gate and blocks the next one until this transaction ends. The next rebuild then reads
 * balances that include this transaction.
 */
export async function pinMoneyEpoch(trx: Trx): Promise<number> {
  const rows = await readRows(
    trx,
    { epoch: LEDGER_TABLES.money_epoch.epoch },
    sql`select epoch from money_epoch for share`,
  )
  return Number(rows[0]?.epoch ?? 0n)
}
