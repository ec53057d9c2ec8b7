import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, oneOf, text } from './tables/column.ts'
import { DEPOSIT_TABLES } from './tables/deposits.ts'
import type { Purse } from './treasury-moves.ts'
import { ofChain } from './treasury-moves.ts'

/** Time in which a transfer is judged, booked and confirmed, or counts as a mismatch. */
const SETTLING = sql`interval '1 hour'`

/** Time for one read of a comparison. A hundred thousand transfers take some seconds. */
const CHECK_TIMEOUT_MS = 60_000

/** Gives the reads of a comparison time and memory, until the end of the transaction. */
export async function allowLongReads(trx: Trx): Promise<void> {
  await sql`select set_config('statement_timeout', ${CHECK_TIMEOUT_MS.toString()}, true),
    set_config('work_mem', '64MB', true)`.execute(trx)
}

/**
 * The scope of a mismatch. `all`: the books have money that the treasury may lack, so each payment takes it from
 * others. `move`: the treasury has money that the books lack, or do not have yet, and that belongs to one transfer.
 * Any wallet can send such a transfer.
 */
export const MISMATCH_SCOPES = ['all', 'move'] as const
export type Mismatch = { readonly wrong: string; readonly scope: (typeof MISMATCH_SCOPES)[number] }
const MISMATCH_ROW = { wrong: text(), scope: oneOf(MISMATCH_SCOPES) }

/** Sentences about transfers that the books do not have as the chain shows them. */
export async function listStrangeMoves(trx: Trx, purse: Purse, limit: number): Promise<Mismatch[]> {
  const booked = (key: ReturnType<typeof sql>) => sql`(select -sum(e.amount) from ledger_key k
    join every_ledger_entry e on e.tx = k.tx and e.account = 'acc_external_usdc' where k.key = ${key})`
  const rows = await readRows(
    trx,
    MISMATCH_ROW,
    sql`with move as (select * from treasury_move where ${ofChain(purse)}),
      named as (select m.*, m.direction || ' ' || m.tx_hash || ' ' || m.place || ' of ' || m.amount as name,
        case when m.era > 0 then ':' || m.era else '' end as suffix from move m)
      select wrong, scope from (
        select name || ' is a deposit, and the books took ' || coalesce(took, 0) as wrong,
          case when took > amount then 'all' else 'move' end as scope from (
          select name, amount, ${booked(sql`'deposit:' || chain_id || ':' || tx_hash || ':' || place || suffix`)} as took
          from named where kind = 'deposit') d where took is distinct from amount
        union all select name || ' is capital, and the books took ' || coalesce(took, 0), 'all' from (
          select name, amount, (select -sum(e.amount) from ledger_key k
            join every_ledger_entry e on e.tx = k.tx and e.account = 'acc_external_usdc' and e.amount = -n.amount
            where k.key between 'fund:' || chain_id || ':' || tx_hash || ':' and 'fund:' || chain_id || ':' || tx_hash || ':~')
            as took from named n where kind = 'capital' and direction = 'in') c where took is null or took % amount <> 0
        union all select name || ' is capital that left, and the books gave ' || coalesce(gave, 0), 'all' from (
          select name, amount, -${booked(sql`'withdraw:' || chain_id || ':' || tx_hash || ':' || place || suffix`)} as gave
          from named where kind = 'capital' and direction = 'out') c where gave is distinct from amount
        union all select n.name || ' is of a payment of which ' || coalesce(p.came, 0) || ' came',
          case when p.came > n.amount then 'all' else 'move' end from named n
          left join chain_payment p on p.rid = n.ref
          where n.kind = 'payment' and n.ref is not null and n.seen_at < now() - ${SETTLING}
            and (p.booked_at is null or p.came is distinct from n.amount)
        union all select n.name || ' is ' || coalesce(t.id || ' of ' || t.amount || ', ' || t.state, 'nobody’s'), 'all' from named n
          left join treasury_transfer t on t.id = n.ref
          where n.direction = 'out' and n.kind in ('payout', 'sweep') and (t.id is null or t.amount <> n.amount
            or t.recipient <> n.party or t.state in ('scheduled', 'held', 'returned')
            or (t.state <> 'paid' and n.seen_at < now() - ${SETTLING}))
        union all select name || ' was not sent by this market', 'all' from named where direction = 'out' and kind = 'unknown'
        union all select name || ' has not been looked at', case direction when 'out' then 'all' else 'move' end from named
          where kind = 'new' and seen_at < now() - ${SETTLING}
      ) strange order by scope limit ${limit}`,
  )
  return rows
}

type Blocks = { readonly first: bigint; readonly last: bigint }

/** Sentences about entries of the books in some blocks that the chain lacks. Each endangers the whole treasury. */
export async function listMissingMoves(
  trx: Trx,
  { chainId, asset, treasury }: Purse,
  { first, last }: Blocks,
  limit: number,
): Promise<Mismatch[]> {
  const moves = sql`select from treasury_move m
    where m.chain_id = ${chainId} and m.asset = ${asset} and m.treasury = ${treasury}`
  const rows = await readRows(
    trx,
    MISMATCH_ROW,
    // Block numbers start anew with each chain.
    sql`with since as (select coalesce(max(era_at), '-infinity') as at from treasury_cursor
        where chain_id = ${chainId} and asset = ${asset} and treasury = ${treasury})
      select wrong, 'all' as scope from (
        select t.id || ' of ' || t.amount || ' is paid, and did not leave' as wrong from treasury_transfer t, since
          where t.state = 'paid' and t.block between ${first} and ${last} and t.chain_id = ${chainId}
            and t.asset = ${asset} and t.treasury = ${treasury} and t.ended_at >= since.at
            and not exists (${moves} and m.direction = 'out' and m.ref = t.id and m.amount = t.amount)
        union all select p.rid || ' is paid with ' || p.came || ', which did not come' from chain_payment p, since
          where p.booked_at is not null and p.claimed_at >= since.at and p.came > 0 and p.block between ${first} and ${last}
            and p.network = 'eip155:' || ${chainId}::bigint and p.asset = ${asset}
            and not exists (${moves} and m.direction = 'in' and m.tx_hash = p.tx_hash and m.party = p.payer
              and m.amount = p.came)
        union all select d.id || ' of ' || d.amount || ' is credited, and did not come' from deposit d, since
          where d.state = 'credited' and d.credited_at >= since.at and d.block between ${first} and ${last} and d.chain_id = ${chainId}
            and d.asset = ${asset} and d.treasury = ${treasury}
            and not exists (${moves} and m.kind = 'deposit' and m.ref = d.id and m.amount = d.amount)
      ) missing limit ${limit}`,
  )
  return rows
}

/** Counts the ledger's deposits of a chain, and the transfers that are deposits. */
export async function countDeposits(
  trx: Trx,
  chainId: number,
): Promise<{ readonly posted: bigint; readonly moved: bigint }> {
  const rows = await readRows(
    trx,
    { posted: bigint(), moved: bigint() },
    sql`select (select count(*) from ledger_key
        where key between 'deposit:' || ${chainId}::bigint || ':' and 'deposit:' || ${chainId}::bigint || ':~') as posted,
      (select count(*) from treasury_move where chain_id = ${chainId} and kind = 'deposit') as moved`,
  )
  return rows[0] ?? { posted: 0n, moved: 0n }
}

const TABLE = DEPOSIT_TABLES.treasury_check
const ROW = {
  id: TABLE.id,
  startedAt: TABLE.started_at,
  tookMs: TABLE.took_ms,
  block: TABLE.block,
  chainBalance: TABLE.chain_balance,
  movesBalance: TABLE.moves_balance,
  sums: TABLE.sums,
  mismatches: TABLE.mismatches,
  failure: TABLE.failure,
}
export type TreasuryCheck = RowOf<typeof ROW>
const COLUMNS = sql`id, started_at as "startedAt", took_ms as "tookMs", block, chain_balance as "chainBalance",
  moves_balance as "movesBalance", sums, mismatches, failure`

/** Stores a comparison, and deletes all but the newest ones. */
export async function insertTreasuryCheck(
  db: Database,
  { sums, mismatches, ...check }: TreasuryCheck & { readonly sums: object; readonly mismatches: object },
  count: number,
): Promise<void> {
  await db
    .insertInto('treasury_check')
    .values({
      id: check.id,
      started_at: check.startedAt,
      took_ms: check.tookMs,
      block: check.block,
      chain_balance: check.chainBalance,
      moves_balance: check.movesBalance,
      failure: check.failure,
      sums: JSON.stringify(sums),
      mismatches: JSON.stringify(mismatches),
    })
    .execute()
  await sql`delete from treasury_check where id not in (
    select id from treasury_check order by id desc limit ${count})`.execute(db)
}

/** Comparisons, newest first. */
export async function listTreasuryChecks(db: Database, limit: number): Promise<TreasuryCheck[]> {
  return readRows(db, ROW, sql`select ${COLUMNS} from treasury_check order by id desc limit ${limit}`)
}
