import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { findCursor } from '#control-plane/db/treasury-moves.ts'
import { purseOf, requireMoves } from '#control-plane/services/deposits/move-ctx.ts'
import { reconcile } from '#control-plane/services/deposits/reconcile.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { drainBalances } from '#control-plane/services/payouts/plan-payouts.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { depositing } from '#test/support/books/deposits.ts'
import type { PayoutWorld, TestSeller } from '#test/support/books/payouts.ts'
import { setTreasury, startPayouts } from '#test/support/books/payouts.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import { middle } from './middle.ts'

const SELLERS = 1_000
const OWED = 1_234_567
const TRANSFERS = 100_000
const DEPOSITS = 20
const FIVE = 5_000_000n

type Row = { readonly what: string; readonly figure: string; readonly beside?: string }

/**
 * Measures the treasury on a chain of its own, with one key: a payout run of a thousand sellers, deposits after the
 * last confirmation, and the comparison of a hundred thousand transfers with the books.
 */
export async function measureTreasury(): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'market-bench-'))
  const [postgres, chain] = await Promise.all([startPostgres({ dataDir: join(folder, 'postgres') }), startChain()])
  const world = await startPayouts(chain, {}, postgres.url)
  try {
    await takeDeposits(world.ctx)
    const deposits = await measureDeposits(world)
    return [deposits, await measureReconciliation(world, chain), await measureDrain(world)]
  } finally {
    await world.stop()
    await Promise.all([postgres.stop(), chain.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

const secondsSince = (began: number) => (performance.now() - began) / 1_000

async function measureDrain(world: PayoutWorld): Promise<Row> {
  const sellers: TestSeller[] = []
  for (let at = 0; at < SELLERS; at++) sellers.push(await world.seller(OWED))
  const began = performance.now()
  await drainBalances(world.ctx, { isForced: true })
  await world.settle()
  const took = secondsSince(began)
  for (const { purse } of sellers) {
    if ((await world.chain.usdcBalance(purse.address)) !== BigInt(OWED))
      throw new Error(`the wallet ${purse.address} lacks its money`)
  }
  return { what: `payout run of ${SELLERS} sellers, one key`, figure: `${took.toFixed(1)} s` }
}

/** Measures a turn of the worker that credits a confirmed deposit. A turn begins each half second. */
async function measureDeposits(world: PayoutWorld): Promise<Row> {
  const buyers = depositing(world)
  const buyer = await buyers.depositor(FIVE)
  const times: number[] = []
  for (let at = 1; at <= DEPOSITS; at++) {
    await buyers.transfer(buyer.purse, 1_000n)
    const began = performance.now()
    await takeDeposits(world.ctx)
    times.push(performance.now() - began)
    if ((await buyers.credit(buyer)) !== at * 1_000) throw new Error('a deposit was not credited')
  }
  const figure = `${middle(times).toFixed(0)} ms, at most ${Math.max(...times).toFixed(0)} ms`
  return { what: 'deposit, a turn of the worker', figure, beside: 'and up to 500 ms until the turn' }
}

async function measureReconciliation(world: PayoutWorld, chain: OwnChain): Promise<Row> {
  const buyer = await depositing(world).depositor(0n)
  await insertDeposits(world, buyer.user.buyerAccount)
  const cursor = await findCursor(world.db, purseOf(requireMoves(world.ctx)))
  await setTreasury(world, cursor?.balance ?? 0n)
  await chain.mine()
  await takeDeposits(world.ctx)
  const ctx = { ...world.ctx, moves: requireMoves(world.ctx) }
  const began = performance.now()
  const { mismatches, failure } = await reconcile(ctx)
  const took = secondsSince(began)
  if (failure !== null || JSON.stringify(mismatches) !== '[]') {
    throw new Error(`the books differ: ${failure} ${JSON.stringify(mismatches)}`)
  }
  return { what: `reconciliation of ${TRANSFERS.toLocaleString('en')} transfers`, figure: `${took.toFixed(2)} s` }
}

/** Writes transfers that were read and credited long ago, with all their entries in the books. */
async function insertDeposits({ db, ctx }: PayoutWorld, account: string): Promise<void> {
  const { chainId, asset, treasury } = purseOf(requireMoves(ctx))
  const each = sql`generate_series(1, ${TRANSFERS}::int) n`
  const hash = sql`'0x' || lpad(to_hex(n), 64, '0')`
  const key = sql`'deposit:' || ${chainId}::bigint || ':' || ${hash} || ':0'`
  const tx = sql`substr(ulid_floor(now()), 1, 10) || lpad(n::text, 16, '0')`
  const id = sql`'dep_' || lpad(n::text, 26, '0')`
  const run = (trx: Database, statement: ReturnType<typeof sql>) => statement.execute(trx)
  await transact(db, async (trx) => {
    await run(trx, sql`set local session_replication_role = replica`)
    await run(trx, sql`set local statement_timeout = 0`)
    await run(trx, sql`insert into ledger_tx (id, kind) select ${tx}, 'deposit' from ${each}`)
    await run(trx, sql`insert into ledger_key (key, tx) select ${key}, ${tx} from ${each}`)
    await run(
      trx,
      sql`insert into ledger_entry (tx, account, amount) select ${tx}, a, case a when ${account} then n else -n end
        from ${each} cross join unnest(array['acc_external_usdc', ${account}]) a`,
    )
    await run(
      trx,
      sql`insert into deposit (id, account, method, sender, amount, state, chain_id, asset, treasury, tx_hash, block, credited_at)
        select ${id}, ${account}, 'transfer', ${asset}, n, 'credited', ${chainId}, ${asset}, ${treasury}, ${hash},
          c.next_block - 1, now() from ${each}, treasury_cursor c`,
    )
    await run(
      trx,
      sql`insert into treasury_move (chain_id, asset, treasury, direction, tx_hash, place, block, log_index, party, amount,
          kind, ref, seen_at)
        select ${chainId}, ${asset}, ${treasury}, 'in', ${hash}, 0, c.next_block - 1, 0, ${asset}, n, 'deposit', ${id},
          now() - interval '1 day' from ${each}, treasury_cursor c`,
    )
    await run(
      trx,
      sql`update treasury_cursor set balance = balance + ${TRANSFERS}::bigint * (${TRANSFERS}::bigint + 1) / 2`,
    )
  })
  await sql`analyze ledger_key, ledger_entry, treasury_move, deposit`.execute(db)
}
