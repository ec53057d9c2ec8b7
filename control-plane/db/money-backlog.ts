import { sql } from 'kysely'
import type { Database } from './database.ts'
import { readRows } from './rows.ts'
import { bigint, nullable } from './tables/column.ts'

/** Counts the work that waits for a person or a sweep, and the shortfall in micro-USD. */
export async function countBacklog(db: Database): Promise<{
  readonly poisoned: number
  readonly conflicts: number
  readonly unfinishedDebits: number
  readonly parkedEnds: number
  readonly payoutHolds: number
  /** Payments by wallet that are due or mined and had no step for a minute. */
  readonly hangingPayments: number
  /** Wallets that owe for calls that they never paid. */
  readonly debtors: number
  readonly shortfallMicro: bigint
}> {
  const rows = await readRows(
    db,
    {
      poisoned: bigint(),
      conflicts: bigint(),
      debits: bigint(),
      ends: bigint(),
      holds: bigint(),
      hanging: bigint(),
      debtors: bigint(),
      shortfall: nullable(bigint()),
    },
    sql`select
    (select count(*) from usage_poison where resolution is null) as poisoned,
    (select count(*) from usage_conflict where resolved_at is null) as conflicts,
    (select count(*) from ledger_debit where state = 'intended' or not is_freed) as debits,
    (select count(*) from job_end where booked_at is null) as ends,
    (select count(*) from payout_hold where cleared_at is null) as holds,
    (select count(*) from chain_payment where state in ('due', 'mined') and changed_at < now() - interval '1 minute') as hanging,
    (select count(distinct payer) from chain_payment where state = 'written_off' and cleared_at is null) as debtors,
    (select -balance from account where kind = 'platform_shortfall') as shortfall`,
  )
  const [row] = rows
  return {
    poisoned: Number(row?.poisoned ?? 0n),
    conflicts: Number(row?.conflicts ?? 0n),
    unfinishedDebits: Number(row?.debits ?? 0n),
    parkedEnds: Number(row?.ends ?? 0n),
    payoutHolds: Number(row?.holds ?? 0n),
    hangingPayments: Number(row?.hanging ?? 0n),
    debtors: Number(row?.debtors ?? 0n),
    shortfallMicro: row?.shortfall ?? 0n,
  }
}
