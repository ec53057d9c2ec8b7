import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, boolean, integer } from './tables/column.ts'
import type { MoveKind } from './tables/deposits.ts'
import { DEPOSIT_TABLES } from './tables/deposits.ts'

/** The token of a treasury on a chain. Addresses are in lower case. */
export type Purse = { readonly chainId: number; readonly asset: string; readonly treasury: string }

const CURSOR = DEPOSIT_TABLES.treasury_cursor
const CURSOR_ROW = {
  firstBlock: CURSOR.first_block,
  opening: CURSOR.opening,
  nextBlock: CURSOR.next_block,
  balance: CURSOR.balance,
  provenBlock: CURSOR.proven_block,
  provenAt: CURSOR.proven_at,
  misses: CURSOR.misses,
  difference: CURSOR.difference,
  provenHash: CURSOR.proven_hash,
  anchorBlock: CURSOR.anchor_block,
  anchorHash: CURSOR.anchor_hash,
  strangeSince: CURSOR.strange_since,
  era: CURSOR.era,
  eraAt: CURSOR.era_at,
  missingSince: CURSOR.missing_since,
  rereadAt: CURSOR.reread_at,
  isOpeningKnown: CURSOR.is_opening_known,
}
export type TreasuryCursor = RowOf<typeof CURSOR_ROW>
const CURSOR_COLUMNS = sql`first_block as "firstBlock", opening, next_block as "nextBlock", balance,
  proven_block as "provenBlock", proven_at as "provenAt", misses, difference, proven_hash as "provenHash",
  anchor_block as "anchorBlock", anchor_hash as "anchorHash", strange_since as "strangeSince", era, era_at as "eraAt",
  missing_since as "missingSince", reread_at as "rereadAt",
  is_opening_known as "isOpeningKnown"`
/** The condition for rows of a purse, in any table with its columns. */
export const ofPurse = ({ chainId, asset, treasury }: Purse) =>
  sql`chain_id = ${chainId} and asset = ${asset} and treasury = ${treasury}`
/** The era of the chain that is read, among chains with the purse's id. */
const eraOf = (purse: Purse) => sql`coalesce((select era from treasury_cursor where ${ofPurse(purse)}), 0)`
/** The moves of a purse on the chain that is read. */
export const ofChain = (purse: Purse) => sql`${ofPurse(purse)} and era = ${eraOf(purse)}`

export async function findCursor(db: Database | Trx, purse: Purse): Promise<TreasuryCursor | undefined> {
  const rows = await readRows(
    db,
    CURSOR_ROW,
    sql`select ${CURSOR_COLUMNS} from treasury_cursor where ${ofPurse(purse)}`,
  )
  return rows[0]
}

/** Reads and locks a cursor until the end of the transaction. */
export async function lockCursor(trx: Trx, purse: Purse): Promise<TreasuryCursor | undefined> {
  const rows = await readRows(
    trx,
    CURSOR_ROW,
    sql`select ${CURSOR_COLUMNS} from treasury_cursor where ${ofPurse(purse)} for update`,
  )
  return rows[0]
}

const PURSE_ROW = { chainId: integer(), asset: CURSOR.asset, treasury: CURSOR.treasury }
/** Most former treasuries that are read. */
const MOST_FORMER = 100

/**
 * The treasuries, besides the given one, whose departures a held ledger may lack. Each was read in the 48 hours before
 * the time of the restored backup or later, or not to a proven end, and no operator has closed it since.
 */
export async function listFormerPurses(db: Database, own: Purse | null): Promise<Purse[]> {
  const others = own === null ? sql`true` : sql`not (${ofPurse(own)})`
  return readRows(
    db,
    PURSE_ROW,
    sql`select chain_id::int as "chainId", asset, treasury from treasury_cursor, money_epoch
      where ${others} and (retired_at is null or retired_at < held_at)
        and (proven_at >= coalesce(restored_to, held_at) - interval '48 hours'
          or difference <> 0 or proven_block <> next_block - 1)
      order by proven_at desc limit ${MOST_FORMER}`,
  )
}

/** Notes that an operator has closed a treasury. Returns the number of its chains and tokens. */
export async function retireTreasury(trx: Trx, treasury: string): Promise<bigint> {
  const { numAffectedRows } =
    await sql`update treasury_cursor set retired_at = clock_timestamp() where treasury = ${treasury}`.execute(trx)
  return numAffectedRows ?? 0n
}

/** Notes that a held ledger waits again for a treasury that an operator had closed. */
export async function readAgain(trx: Trx, treasury: string): Promise<void> {
  await sql`update treasury_cursor set retired_at = null where treasury = ${treasury}`.execute(trx)
}

/** Begins to read at a block, unless the reading has begun. Without an opening balance the first proof sets it. */
export async function insertCursor(
  db: Database,
  { chainId, asset, treasury }: Purse,
  start: { readonly firstBlock: bigint; readonly opening: bigint | undefined },
): Promise<void> {
  const { firstBlock, opening = 0n } = start
  const isKnown = start.opening !== undefined
  await sql`insert into treasury_cursor
      (chain_id, asset, treasury, first_block, opening, next_block, balance, proven_block, is_opening_known)
    values (${chainId}, ${asset}, ${treasury}, ${firstBlock}, ${opening}, ${firstBlock}, ${opening}, ${firstBlock - 1n},
      ${isKnown})
    on conflict do nothing`.execute(db)
}

export type CursorChange = Partial<
  Pick<
    TreasuryCursor,
    | 'opening'
    | 'nextBlock'
    | 'balance'
    | 'provenBlock'
    | 'provenHash'
    | 'misses'
    | 'difference'
    | 'missingSince'
    | 'rereadAt'
  >
> & {
  /** The block to remember. */
  readonly anchor?: { readonly block: bigint; readonly hash: string } | undefined
  readonly isStrange?: boolean
}

/** Changes a locked cursor. */
export async function changeCursor(trx: Trx, purse: Purse, change: CursorChange): Promise<void> {
  const { nextBlock, balance, provenBlock, provenHash, misses, difference, anchor, isStrange } = change
  const { missingSince, rereadAt, opening } = change
  await trx
    .updateTable('treasury_cursor')
    .set({
      ...(opening === undefined ? {} : { opening, is_opening_known: true }),
      ...(nextBlock === undefined ? {} : { next_block: nextBlock }),
      ...(balance === undefined ? {} : { balance }),
      ...(provenBlock === undefined ? {} : { proven_block: provenBlock, proven_at: sql`now()` }),
      ...(provenHash === undefined ? {} : { proven_hash: provenHash }),
      ...(anchor === undefined ? {} : { anchor_block: anchor.block, anchor_hash: anchor.hash }),
      ...(isStrange === undefined ? {} : { strange_since: isStrange ? sql`now()` : null }),
      ...(misses === undefined ? {} : { misses }),
      ...(difference === undefined ? {} : { difference }),
      ...(missingSince === undefined ? {} : { missing_since: missingSince }),
      ...(rereadAt === undefined ? {} : { reread_at: rereadAt }),
    })
    .where(sql<boolean>`${ofPurse(purse)}`)
    .execute()
}

const MOVE = DEPOSIT_TABLES.treasury_move
const MOVE_ROW = {
  era: MOVE.era,
  direction: MOVE.direction,
  transaction: MOVE.tx_hash,
  place: MOVE.place,
  block: MOVE.block,
  logIndex: MOVE.log_index,
  party: MOVE.party,
  amount: MOVE.amount,
  nonce: MOVE.nonce,
  permitNonce: MOVE.permit_nonce,
  permitBy: MOVE.permit_by,
  soughtAmong: MOVE.sought_among,
  soughtAfter: MOVE.sought_after,
  kind: MOVE.kind,
  ref: MOVE.ref,
  reason: MOVE.reason,
  seenAt: MOVE.seen_at,
}
export type TreasuryMove = RowOf<typeof MOVE_ROW>
const MOVE_COLUMNS = sql`era, direction, tx_hash as "transaction", place, block, log_index as "logIndex", party, amount, nonce,
  permit_nonce as "permitNonce", permit_by as "permitBy", sought_among as "soughtAmong", sought_after as "soughtAfter", kind, ref, reason, seen_at as "seenAt"`

export type NewMove = Pick<
  TreasuryMove,
  'direction' | 'transaction' | 'place' | 'block' | 'logIndex' | 'party' | 'amount' | 'nonce'
>
/** The name of a move among those of a purse. */
export type MoveName = Pick<TreasuryMove, 'direction' | 'transaction' | 'place'>

/** Stores moves, and returns the sum of the new ones. A known move keeps its meaning, and gets its present block. */
export async function upsertMoves(trx: Trx, purse: Purse, moves: readonly NewMove[]): Promise<bigint> {
  if (moves.length === 0) return 0n
  const { chainId, asset, treasury } = purse
  const rows = await readRows(
    trx,
    { direction: MOVE.direction, amount: MOVE.amount, isNew: boolean() },
    sql`insert into treasury_move as known
      (chain_id, asset, treasury, era, direction, tx_hash, place, block, log_index, party, amount, nonce)
    select ${chainId}, ${asset}, ${treasury}, ${eraOf(purse)}, * from unnest(
      ${moves.map(({ direction }) => direction)}::text[],
      ${moves.map(({ transaction }) => transaction)}::text[],
      ${moves.map(({ place }) => place)}::int[],
      ${moves.map(({ block }) => block.toString())}::bigint[],
      ${moves.map(({ logIndex }) => logIndex)}::int[],
      ${moves.map(({ party }) => party)}::text[],
      ${moves.map(({ amount }) => amount.toString())}::bigint[],
      ${moves.map(({ nonce }) => nonce)}::text[])
    on conflict (chain_id, asset, treasury, era, tx_hash, direction, place) do update
      set block = excluded.block, log_index = excluded.log_index
    returning direction, amount, xmax = 0 as "isNew"`,
  )
  const fresh = rows.filter(({ isNew }) => isNew)
  return fresh.reduce((sum, { direction, amount }) => (direction === 'in' ? sum + amount : sum - amount), 0n)
}

/** Lets one database transaction at a time judge a transaction of the chain. */
export async function lockTransaction(trx: Trx, hash: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended(${hash}, 8453))`.execute(trx)
}

/** Moves without a verdict, or those of one direction, oldest first. */
export async function listNewMoves(
  db: Database,
  purse: Purse,
  direction: 'in' | 'out' | undefined,
  limit: number,
): Promise<TreasuryMove[]> {
  const way = direction === undefined ? sql`` : sql`and direction = ${direction}`
  return readRows(
    db,
    MOVE_ROW,
    sql`select ${MOVE_COLUMNS} from treasury_move where kind = 'new' and ${ofChain(purse)} ${way}
      order by block, log_index limit ${limit}`,
  )
}

/**
 * The transactions of departures without a verdict, of departures that this market did not send, and of unjudged
 * arrivals from wallets with an allowance, which may be draws. Arrivals from others delay nothing here, and arrivals at
 * a former treasury are not judged.
 */
export async function listUnsettledMoves(
  db: Database,
  purse: Purse,
  { isFormer, limit }: { readonly isFormer: boolean; readonly limit: number },
): Promise<string[]> {
  const draws = isFormer
    ? sql``
    : sql`or (kind = 'new' and exists (select from allowance_line l where l.wallet = party))`
  const rows = await readRows(
    db,
    { transaction: MOVE.tx_hash },
    sql`select tx_hash as "transaction" from treasury_move
      where ${ofChain(purse)} and ((direction = 'out' and kind in ('new', 'unknown')) ${draws})
      order by block, log_index limit ${limit}`,
  )
  return rows.map(({ transaction }) => transaction)
}

/** Moves of some kind, or of all, newest first. */
export async function listMoves(
  db: Database,
  purse: Purse,
  { kind, direction }: { readonly kind: MoveKind | undefined; readonly direction: 'in' | 'out' | undefined },
  limit: number,
): Promise<TreasuryMove[]> {
  const conditions = [
    ofPurse(purse),
    ...(kind === undefined ? [] : [sql`kind = ${kind}`]),
    ...(direction === undefined ? [] : [sql`direction = ${direction}`]),
  ]
  return readRows(
    db,
    MOVE_ROW,
    sql`select ${MOVE_COLUMNS} from treasury_move where ${sql.join(conditions, sql` and `)}
      order by era desc, block desc, log_index desc limit ${limit}`,
  )
}

/** Reads a move and locks it until the end of the transaction. */
export async function lockMove(
  trx: Trx,
  purse: Purse,
  { direction, transaction, place }: MoveName,
): Promise<TreasuryMove | undefined> {
  const rows = await readRows(
    trx,
    MOVE_ROW,
    sql`select ${MOVE_COLUMNS} from treasury_move where ${ofChain(purse)} and direction = ${direction}
      and tx_hash = ${transaction} and place = ${place} for no key update`,
  )
  return rows[0]
}

/** Stores the Permit2 authorization that carried a locked move, and the only sender that could use it. */
export async function notePermit(
  trx: Trx,
  purse: Purse,
  { direction, transaction, place }: MoveName,
  { nonce, sender }: { readonly nonce: string; readonly sender: string },
): Promise<void> {
  await sql`update treasury_move set permit_nonce = ${nonce}, permit_by = ${sender}
    where ${ofChain(purse)} and direction = ${direction} and tx_hash = ${transaction} and place = ${place}
      and permit_nonce is null`.execute(trx)
}

/** Stores the place where the search for the name of a locked departure continues. */
export async function noteSearch(
  trx: Trx,
  purse: Purse,
  { direction, transaction, place }: MoveName,
  { among, after }: { readonly among: 'paid_there' | 'all'; readonly after: string },
): Promise<void> {
  await sql`update treasury_move set sought_among = ${among}, sought_after = ${after}
    where ${ofChain(purse)} and direction = ${direction} and tx_hash = ${transaction} and place = ${place}`.execute(trx)
}

export type MoveChange = {
  readonly kind: MoveKind
  readonly ref: string | null
  readonly reason?: string | null | undefined
}

/** Stores the verdict on a locked move. */
export async function changeMove(
  trx: Trx,
  purse: Purse,
  { direction, transaction, place }: MoveName,
  { kind, ref, reason = null }: MoveChange,
): Promise<void> {
  await sql`update treasury_move set kind = ${kind}, ref = ${ref}, reason = ${reason}, changed_at = now()
    where ${ofChain(purse)} and direction = ${direction} and tx_hash = ${transaction} and place = ${place}`.execute(trx)
}

/**
 * Reopens arrivals from unknown wallets that have an account now, and arrivals of unknown payments. Returns their
 * number.
 */
export async function renewKnownMoves(db: Database, purse: Purse): Promise<bigint> {
  const ofUsers = await sql`update treasury_move m set kind = 'new', changed_at = now() from app_user u
    where m.kind = 'unknown' and m.direction = 'in' and m.reason = 'unknown_sender' and u.wallet = m.party
      and m.chain_id = ${purse.chainId} and m.asset = ${purse.asset} and m.treasury = ${purse.treasury}`.execute(db)
  const ofPayments = await sql`update treasury_move m set kind = 'new', changed_at = now()
    where ${ofPurse(purse)} and m.direction = 'in' and ((m.kind = 'payment' and m.ref is null)
      or (m.kind = 'unknown' and m.reason = 'unknown_payment' and exists
        (select from chain_payment p where p.payer = m.party and p.tx_hash = m.tx_hash
        union all select from chain_payment p where p.network = 'eip155:' || m.chain_id and p.asset = m.asset
          and p.payer = m.party and p.nonce = m.permit_nonce)))`.execute(db)
  return (ofUsers.numAffectedRows ?? 0n) + (ofPayments.numAffectedRows ?? 0n)
}

/** True when an authorization of a payer has moved money here, so that it can pay for nothing more. */
export async function wasMovedBy(
  db: Database | Trx,
  { asset, payer, nonce }: { readonly asset: string; readonly payer: string; readonly nonce: string },
): Promise<boolean> {
  const rows = await readRows(
    db,
    { found: boolean() },
    sql`select exists (select from treasury_move
      where party = ${payer} and (nonce = ${nonce} or permit_nonce = ${nonce}) and asset = ${asset}
        and direction = 'in') as found`,
  )
  return rows[0]?.found === true
}

/** An authorization, and the facts that identify its arrival. */
export type CreditQuery = {
  readonly asset: string
  readonly payer: string
  readonly nonce: string
  /** The only sender that can use a Permit2 authorization, in lower case; null where anybody can. */
  readonly settledBy: string | null
  /** The transaction that used it, where that is known. */
  readonly transaction: string | null
}

/**
 * True when money that a payer's authorization moved here was credited as a deposit. A transaction of x402's proxy uses
 * one Permit2 authorization (digits), so the transaction identifies the arrival, too.
 */
export async function wasCreditedBy(
  db: Database | Trx,
  { asset, payer, nonce, settledBy, transaction }: CreditQuery,
): Promise<boolean> {
  const used = nonce.startsWith('0x') ? null : transaction
  const rows = await readRows(
    db,
    { found: boolean() },
    sql`select exists (select from treasury_move where party = ${payer} and asset = ${asset} and direction = 'in'
      and kind = 'deposit' and (nonce = ${nonce} or (permit_nonce = ${nonce} and permit_by = ${settledBy})
        or tx_hash = ${used})) as found`,
  )
  return rows[0]?.found === true
}

/** The purpose of one of our transactions, found by its hash. */
export async function findOwnTransaction(trx: Trx, hash: string): Promise<string | undefined> {
  const rows = await readRows(trx, { ref: MOVE.tx_hash }, sql`select ref from chain_transaction where hash = ${hash}`)
  return rows[0]?.ref
}

/** A token of another contract, and its arrivals in some blocks. */
export type Stray = {
  readonly token: string
  readonly transfers: number
  readonly amount: bigint
  readonly sender: string
  readonly transaction: string
  readonly block: bigint
}

/** Counts transfers of other tokens. New tokens above the limit are left out. */
export async function countStrays(trx: Trx, purse: Purse, strays: readonly Stray[], maxTokens: number): Promise<void> {
  for (const { token, transfers, amount, sender, transaction, block } of strays) {
    await sql`insert into stray_token as known
        (chain_id, token, treasury, transfers, amount, last_sender, last_tx, last_block)
      select ${purse.chainId}, ${token}, ${purse.treasury}, ${transfers}, ${amount.toString()}::numeric, ${sender},
        ${transaction}, ${block}
      where exists (select from stray_token
          where chain_id = ${purse.chainId} and treasury = ${purse.treasury} and token = ${token})
        or (select count(*) from stray_token) < ${maxTokens}
      on conflict (chain_id, treasury, token) do update set transfers = known.transfers + excluded.transfers,
        amount = known.amount + excluded.amount, last_sender = excluded.last_sender, last_tx = excluded.last_tx,
        last_block = excluded.last_block where known.last_block < excluded.last_block`.execute(trx)
  }
}

const STRAY_ROW = {
  token: DEPOSIT_TABLES.stray_token.token,
  transfers: DEPOSIT_TABLES.stray_token.transfers,
  amount: DEPOSIT_TABLES.stray_token.amount,
  lastSender: DEPOSIT_TABLES.stray_token.last_sender,
  lastTransaction: DEPOSIT_TABLES.stray_token.last_tx,
  firstSeenAt: DEPOSIT_TABLES.stray_token.first_seen_at,
}
export type StrayToken = RowOf<typeof STRAY_ROW>

/** Tokens of other contracts that were sent to the treasury, newest first. */
export async function listStrayTokens(db: Database, purse: Purse, limit: number): Promise<StrayToken[]> {
  return readRows(
    db,
    STRAY_ROW,
    sql`select token, transfers, amount, last_sender as "lastSender", last_tx as "lastTransaction",
        first_seen_at as "firstSeenAt"
      from stray_token where chain_id = ${purse.chainId} and treasury = ${purse.treasury}
      order by last_block desc limit ${limit}`,
  )
}

const SUM_ROW = { direction: MOVE.direction, kind: MOVE.kind, count: integer(), amount: bigint() }
export type MoveSum = RowOf<typeof SUM_ROW>

/** Sums of incoming and outgoing moves by kind, of the blocks that were read of this chain. */
export async function sumMoves(db: Database | Trx, purse: Purse): Promise<MoveSum[]> {
  return readRows(
    db,
    SUM_ROW,
    sql`select direction, kind, count(*)::int as count, sum(amount)::bigint as amount from treasury_move
      where ${ofChain(purse)} group by direction, kind order by direction, kind`,
  )
}
