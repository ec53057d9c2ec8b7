import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import { transact } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CHAIN_PAYMENT_TABLES } from './tables/chain-payments.ts'
import { boolean, integer, nullable } from './tables/column.ts'

const TABLE = CHAIN_PAYMENT_TABLES.chain_transaction
const ROW = {
  hash: TABLE.hash,
  raw: TABLE.raw,
  nonce: TABLE.nonce,
  ref: TABLE.ref,
  sender: TABLE.sender,
  /** Milliseconds since its signature, and since it was last sent; null before the first. */
  ageMs: integer(),
  sentMs: nullable(integer()),
  minedAt: TABLE.mined_at,
  isReverted: TABLE.is_reverted,
}
export type ChainTransaction = RowOf<typeof ROW>
const sinceMs = (column: string) =>
  sql`least(extract(epoch from clock_timestamp() - ${sql.ref(column)}) * 1000, 2000000000)::integer`
const COLUMNS = sql`hash, raw, nonce, ref, sender, ${sinceMs('signed_at')} as "ageMs", ${sinceMs('sent_at')} as "sentMs",
  mined_at as "minedAt", is_reverted as "isReverted"`
/** Most transactions of one reference that are read: some attempts, each with some fees. */
const MAX_OF_ONE = 50

/** The transactions for a reference, newest first. */
export async function listChainTransactionsOf(db: Database | Trx, ref: string): Promise<ChainTransaction[]> {
  return readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from chain_transaction where ref = ${ref} and dead_at is null
      order by signed_at desc limit ${MAX_OF_ONE}`,
  )
}

/** True for an address whose transactions are or were stored here. */
export async function isChainSender(db: Database, address: string): Promise<boolean> {
  const rows = await readRows(
    db,
    { found: boolean() },
    sql`select exists (select from chain_sender where lower(address) = ${address}) as found`,
  )
  return rows[0]?.found === true
}

type NewChainTransaction = {
  readonly ref: string
  readonly sender: string
  readonly first: bigint
  readonly maxJump: bigint
}
type Signed = Pick<ChainTransaction, 'hash' | 'raw'>
/** Throws while no signature is allowed. */
type Allow = (trx: Trx) => Promise<void>

/**
 * Takes the sender's next nonce, signs with it and stores the result in one transaction. Returns the stored transaction
 * when the reference has one that is not reverted. All processes with the key queue for the sender's row. Throws when
 * `first` is further ahead than `maxJump`, and the errors of `allow`.
 */
export async function addChainTransaction(
  db: Database,
  { ref, sender, first, maxJump }: NewChainTransaction,
  { allow, sign }: { readonly allow: Allow; readonly sign: (nonce: bigint) => Promise<Signed> },
): Promise<ChainTransaction> {
  return transact(db, async (trx) => {
    await sql`insert into chain_sender (address, next_nonce) values (${sender}, ${first})
      on conflict (address) do nothing`.execute(trx)
    const [line] = await readRows(
      trx,
      { next: CHAIN_PAYMENT_TABLES.chain_sender.next_nonce },
      sql`select next_nonce as next from chain_sender where address = ${sender} for update`,
    )
    const known = (await listChainTransactionsOf(trx, ref)).find(({ isReverted }) => isReverted !== true)
    if (known !== undefined) return known
    // The wait may have been long, so the check comes after it.
    await allow(trx)
    const next = line?.next ?? first
    if (first > next + maxJump) throw new Error(`the chain has used the nonces up to ${first}, and we know of ${next}`)
    const nonce = next > first ? next : first
    await sql`update chain_sender set next_nonce = ${nonce + 1n} where address = ${sender}`.execute(trx)
    return insertChainTransaction(trx, { sender, nonce, ref }, await sign(nonce))
  })
}

/**
 * Signs another transaction with a used nonce, and stores it, in one database transaction. Throws the errors of
 * `allow`.
 */
export async function addChainTransactionAt(
  db: Database,
  use: NonceUse,
  { allow, sign }: { readonly allow: Allow; readonly sign: () => Promise<Signed> },
): Promise<ChainTransaction> {
  return transact(db, async (trx) => {
    await allow(trx)
    return insertChainTransaction(trx, use, await sign())
  })
}

type NonceUse = Pick<ChainTransaction, 'sender' | 'nonce' | 'ref'>

/**
 * Stores a signed transaction. A transaction with the same bytes, from a chain that was started anew, waits for its
 * block again.
 */
async function insertChainTransaction(
  trx: Trx,
  { sender, nonce, ref }: NonceUse,
  { hash, raw }: Signed,
): Promise<ChainTransaction> {
  await sql`insert into chain_transaction (hash, sender, nonce, ref, raw)
    values (${hash}, ${sender}, ${nonce}, ${ref}, ${raw})
    on conflict (hash) do update set mined_at = null, is_reverted = null, dead_at = null`.execute(trx)
  return { hash, raw, nonce, ref, sender, ageMs: 0, sentMs: null, minedAt: null, isReverted: null }
}

export async function markChainTransactionSent(db: Database, hash: string): Promise<void> {
  await sql`update chain_transaction set sent_at = now() where hash = ${hash.toLowerCase()}`.execute(db)
}

/** Notes that a transaction is in a block. Others with its nonce can never be mined then. */
export async function markChainTransactionMined(db: Database, hash: string, isReverted: boolean): Promise<void> {
  await sql`update chain_transaction as row set mined_at = now(), is_reverted = (row.hash <> mined.hash or ${isReverted})
    from chain_transaction as mined where mined.hash = ${hash.toLowerCase()} and mined.mined_at is null
    and row.sender = mined.sender and row.nonce = mined.nonce and mined.dead_at is null and row.dead_at is null`.execute(
    db,
  )
}

/** A block with the transaction is gone from the chain, so all transactions with its nonce may be mined again. */
export async function unmineChainTransaction(db: Database, hash: string): Promise<void> {
  await sql`update chain_transaction as row set mined_at = null, is_reverted = null
    from chain_transaction as mined where mined.hash = ${hash.toLowerCase()}
    and row.sender = mined.sender and row.nonce = mined.nonce and mined.dead_at is null and row.dead_at is null`.execute(
    db,
  )
}

/** Clears the blocks of transactions from a nonce on that were noted some milliseconds ago. Returns their number. */
export async function forgetChainTransactions(
  db: Database,
  sender: string,
  from: bigint,
  olderThanMs: number,
): Promise<number> {
  const { numAffectedRows } = await sql`update chain_transaction set mined_at = null, is_reverted = null
    where sender = ${sender} and nonce >= ${from} and dead_at is null and mined_at < now() - make_interval(secs => ${olderThanMs / 1_000})`.execute(
    db,
  )
  return Number(numAffectedRows ?? 0n)
}

/** Nonces of a sender from `from` up to its next that no transaction has. */
export async function listMissingNonces(db: Database, sender: string, from: bigint, limit: number): Promise<bigint[]> {
  const rows = await readRows(
    db,
    { nonce: TABLE.nonce },
    sql`select nonce from chain_sender, generate_series(${from}::bigint, next_nonce - 1) as nonce
      where address = ${sender} and not exists (
        select from chain_transaction as known where known.sender = ${sender} and known.nonce = nonce.nonce
          and known.dead_at is null)
      order by nonce limit ${limit}`,
  )
  return rows.map(({ nonce }) => nonce)
}

/** Transactions that are in no block, by nonce, oldest first. */
export async function listUnminedChainTransactions(
  db: Database,
  sender: string,
  olderThanMs: number,
  limit: number,
): Promise<ChainTransaction[]> {
  return readRows(
    db,
    ROW,
    sql`select ${COLUMNS} from chain_transaction where sender = ${sender} and mined_at is null and dead_at is null
      and signed_at < now() - make_interval(secs => ${olderThanMs / 1_000}) order by nonce, signed_at limit ${limit}`,
  )
}

/**
 * Gives up all transactions of a chain that is gone, and starts every sender's nonces from the new chain's count.
 * Returns the number of transactions that were in no block.
 */
export async function buryChainTransactions(trx: Trx): Promise<number> {
  await sql`update chain_sender set next_nonce = 0`.execute(trx)
  const rows = await readRows(
    trx,
    { unmined: integer() },
    sql`with dead as (update chain_transaction set dead_at = now() where dead_at is null returning mined_at)
      select count(*) filter (where mined_at is null)::int as unmined from dead`,
  )
  return rows[0]?.unmined ?? 0
}
