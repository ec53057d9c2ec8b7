import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import { IS_OPEN, UNBOOKED_ENDS, UNBOOKED_RELEASES, UNSOUGHT } from './chain-payments.ts'
import type { Database } from './database.ts'
import { readRows } from './rows.ts'
import { boolean } from './tables/column.ts'
import type { Purse } from './treasury-moves.ts'
import { ofChain, ofPurse } from './treasury-moves.ts'

// Workers turn every second, and mostly have nothing to do. These queries show that at once, from small indexes.

async function isThere(db: Database, some: RawBuilder<unknown>): Promise<boolean> {
  const rows = await readRows(db, { isThere: boolean() }, sql`select ${some} as "isThere"`)
  return rows[0]?.isThere === true
}

/** True while a payment is open, is not booked, or may still arrive after it was written off. */
export function hasOpenPayments(db: Database): Promise<boolean> {
  return isThere(
    db,
    sql`exists (select from chain_payment where ${IS_OPEN} or (${UNBOOKED_ENDS}))
      or exists (select from chain_payment where ${UNBOOKED_RELEASES})
      or exists (select from chain_payment where ${UNSOUGHT})`,
  )
}

/** True while a transfer of the treasury waits for its signature or its end. */
export function hasOpenTransfers(db: Database): Promise<boolean> {
  return isThere(db, sql`exists (select from treasury_transfer where state in ('scheduled', 'signed', 'mined'))`)
}

/** The work for money that arrives at the treasury. */
export type DepositWork = { readonly isSigned: boolean; readonly isNew: boolean; readonly isOverdue: boolean }

/** Tells whether deposits are signed or overdue, and whether moves are new. */
export async function findDepositWork(db: Database, purse: Purse): Promise<DepositWork> {
  const rows = await readRows(
    db,
    { isSigned: boolean(), isNew: boolean(), isOverdue: boolean() },
    sql`select exists (select from deposit where state = 'signed' and ${ofPurse(purse)}) as "isSigned",
      exists (select from treasury_move where kind = 'new' and ${ofChain(purse)}) as "isNew",
      exists (select from deposit where state in ('opened', 'signed') and valid_until <= now()) as "isOverdue"`,
  )
  return rows[0] ?? { isSigned: false, isNew: false, isOverdue: false }
}

/** True once a wallet has let the treasury draw from it. */
export function hasAllowanceLines(db: Database): Promise<boolean> {
  return isThere(db, sql`exists (select from allowance_line)`)
}

/** True while a webhook exists. Deliveries are deleted with their webhook. */
export function hasWebhooks(db: Database): Promise<boolean> {
  return isThere(db, sql`exists (select from webhook)`)
}

/** True while a job's poll is due at an instant, in Unix milliseconds. */
export function hasDueJobs(db: Database, now: number): Promise<boolean> {
  return isThere(db, sql`exists (select from job where ended_at is null and poll_at <= ${new Date(now)})`)
}

/** True while changed keys wait to be published. */
export function hasKeyChanges(db: Database): Promise<boolean> {
  return isThere(db, sql`exists (select from key_change)`)
}
