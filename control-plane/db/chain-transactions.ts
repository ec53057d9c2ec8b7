import { sql } from 'kysely'
import type { Database } from './database.ts'
import { transact } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CHAIN_PAYMENT_TABLES } from './tables/chain-payments.ts'

const TABLE = CHAIN_PAYMENT_TABLES.chain_transaction
const ROW = {
  hash: TABLE.hash,
  raw: TABLE.raw,
  nonce: TABLE.nonce,
  minedAt: TABLE.mined_at,
  isReverted: TABLE.is_reverted,
}
export type ChainTransaction = RowOf<typeof ROW>
const COLUMNS = sql`hash, raw, nonce, mined_at as "minedAt", is_reverted as "isReverted"`

/** The newest transaction for a reference. */
export async function findChainTransaction(db: Database, ref: string): Promise<ChainTransaction | undefined> {
  const rows = await readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from chain_transaction where ref = ${ref} order by signed_at desc limit 1`,
  )
  return rows[0]
}

/**
 * Takes the sender's next nonce, signs with it and stores the result in one transaction. Answers the stored one when the
 * reference has one. The row of the sender is the line in which all processes with its key wait.
 */
export async function addChainTransaction(
  db: Database,
  { ref, sender, first }: { readonly ref: string; readonly sender: string; readonly first: bigint },
  sign: (nonce: bigint) => Promise<{ readonly hash: string; readonly raw: string }>,
): Promise<ChainTransaction> {
  return transact(db, async (trx) => {
    await sql`insert into chain_sender (address, next_nonce) values (${sender}, ${first})
      on conflict (address) do nothing`.execute(trx)
    const [line] = await readRows(
      trx,
      { next: CHAIN_PAYMENT_TABLES.chain_sender.next_nonce },
      sql`select next_nonce as next from chain_sender where address = ${sender} for update`,
    )
    const [known] = await readRows(
      trx,
      ROW,
      sql`select ${COLUMNS} from chain_transaction where ref = ${ref} order by signed_at desc limit 1`,
    )
    if (known !== undefined) return known
    // Another program may have used the key.
    const nonce = line !== undefined && line.next > first ? line.next : first
    const { hash, raw } = await sign(nonce)
    await trx.insertInto('chain_transaction').values({ hash, sender, nonce, ref, raw }).execute()
    await trx
      .updateTable('chain_sender')
      .set({ next_nonce: nonce + 1n })
      .where('address', '=', sender)
      .execute()
    return { hash, raw, nonce, minedAt: null, isReverted: null }
  })
}

export async function markChainTransactionSent(db: Database, hash: string): Promise<void> {
  await sql`update chain_transaction set sent_at = now() where hash = ${hash}`.execute(db)
}

export async function markChainTransactionMined(db: Database, hash: string, isReverted: boolean): Promise<void> {
  await sql`update chain_transaction set mined_at = now(), is_reverted = ${isReverted}
    where hash = ${hash.toLowerCase()} and mined_at is null`.execute(db)
}

/** A block that had it is gone from the chain, so it is sent again. */
export async function unmineChainTransaction(db: Database, hash: string): Promise<void> {
  await sql`update chain_transaction set mined_at = null, is_reverted = null where hash = ${hash}`.execute(db)
}

/** Transactions that are in no block, oldest first. */
export async function listUnminedChainTransactions(
  db: Database,
  sender: string,
  olderThanMs: number,
  limit: number,
): Promise<ChainTransaction[]> {
  return readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from chain_transaction where sender = ${sender} and mined_at is null
      and signed_at < now() - make_interval(secs => ${olderThanMs / 1_000}) order by nonce limit ${limit}`,
  )
}
