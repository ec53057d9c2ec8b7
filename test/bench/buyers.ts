import { sql } from 'kysely'
import type { Database } from '#control-plane/db/database.ts'
import type { BuyerActor } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import { getMe } from '#control-plane/services/usage/buyer-account.ts'
import { listBuyerUsage, listUsageBuckets } from '#control-plane/services/usage/buyer-usage.ts'
import { writeBuyerUsage } from '#control-plane/services/usage/buyer-usage-export.ts'
import { getSavings } from '#control-plane/services/usage/savings.ts'
import { listStatements } from '#control-plane/services/usage/statements.ts'
import { DAY } from '#shared/clock.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { Figure, FilledPlane } from './filled-plane.ts'
import { onFilledPlane, timeExport, timeRuns } from './filled-plane.ts'

const BUYERS = 1_000
const CALLS = Number(process.env['BENCH_CALLS'] ?? 1_000_000)
/** Calls of the buyer with the most calls. The others have equal shares of the rest. */
const CALLS_OF_FIRST = CALLS / 10
const ROWS_AT_ONCE = 50_000
const DAYS = 90

/** Times that a buyer waits in a market of a million calls. */
export function measureBuyers(): Promise<Figure[]> {
  return onFilledPlane({ fill }, async (filled) => [...(await measureReads(filled)), await measureExport(filled)])
}

const buyerOf = (at: number): BuyerActor => ({
  kind: 'buyer',
  keyId: `key_${at}`,
  user: `usr_${at}`,
  account: `acc_b${at}`,
  wallet: `0x${at.toString(16).padStart(40, '0')}`,
})

/** Calls are spread evenly over the last 90 days. Those of the first buyer are in the ledger, too. */
async function fill(db: Database): Promise<void> {
  await sql`insert into account (id, kind, owner, balance, version) select 'acc_b' || n, 'buyer_credit', 'usr_' || n,
      case when n = 0 then 1000000000 else 0 end, 1 from generate_series(0, ${BUYERS - 1}) n`.execute(db)
  await sql`select make_month_partitions(now() - interval '90 days', 3)`.execute(db)
  for (let from = 0; from < CALLS; from += ROWS_AT_ONCE) await insertCalls(db, from)
  await sql`insert into ledger_tx (id, kind, at) select rid, 'settle', started_at from settlement
    where account = 'acc_b0'`.execute(db)
  await sql`insert into ledger_entry (tx, account, amount) select rid, lines.account, amount
    from settlement, lateral (values ('acc_b0', -charge), ('acc_platform_fee', charge)) lines(account, amount)
    where settlement.account = 'acc_b0'`.execute(db)
  await sql`vacuum analyze`.execute(db)
}

async function insertCalls(db: Database, from: number): Promise<void> {
  await sql`insert into settlement (rid, account, key_id, seller_account, offer, provider, model, requested_model, wire,
      endpoint, rail, served_by, node, is_streamed, outcome, hold_amount, charge, list_cost, seller_net, fee, fee_bps,
      kept_bps, price_version, usage_source, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens,
      reasoning_tokens, audio_input_tokens, audio_output_tokens, characters, images, pixels, milliseconds, calls,
      duration_ms, overhead_ms, attempts, anomalies, payload_hash, started_at, captured_at)
    select left(ulid_floor(at), 10) || upper(left(md5(n::text), 16)), 'acc_b' || b, 'key_' || b, 'acc_seller', 'ofr_1',
      'provider', 'model-' || n % 8, 'model-' || n % 8, 'chat', 'chat', 'credit', 'marketplace', 'node', false,
      'succeeded', 1000, 1000, 2000, 950, 50, 500, 5000, 'v1', 'reported', 800, 100, 0, 200, 0, 0, 0, 0, 0, 0, 0, 0, 900,
      0.5, '[]'::jsonb, '{}', md5(n::text) || md5(n::text), at, at
    from (select n, case when n % ${CALLS / CALLS_OF_FIRST} = 0 then 0 else 1 + n % ${BUYERS - 1} end as b,
        now() - (n::float8 / ${CALLS} * ${DAYS - 1}) * interval '1 day' as at
      from generate_series(${from}::int, ${from + ROWS_AT_ONCE - 1}::int) n) calls order by 1`.execute(db)
}

async function measureReads(filled: FilledPlane): Promise<Figure[]> {
  const { plane } = filled
  const [first, other] = [buyerOf(0), buyerOf(500)]
  const many = `of ${CALLS_OF_FIRST} calls`
  const timed = (what: string, goal: string, run: () => Promise<unknown>) =>
    timeRuns(filled, { what: `buyers: ${what}`, goal, run })
  let usage: string | undefined
  let lines: string | undefined
  const after = (nextToken: string | undefined) => ({
    maxItems: 100,
    ...(nextToken === undefined ? {} : { nextToken }),
  })
  return [
    await timed(`a page of 100 ${many}`, '20 ms', async () => {
      const page = { period: 'lifetime', ...after(usage) }
      usage = (await invoke(plane, first, listBuyerUsage, page)).nextToken ?? undefined
    }),
    await timed(`a page of 100 of a statement ${many}`, '20 ms', async () => {
      lines = (await invoke(plane, first, listStatements, after(lines))).nextToken ?? undefined
    }),
    await timed(`the last page of a statement ${many}`, '20 ms', () => {
      const nextToken = ulidFloor(Date.now() - (DAYS - 2) * DAY)
      return invoke(plane, first, listStatements, after(nextToken))
    }),
    await timed(`usage by hour, 30d, ${many}`, '100 ms', () =>
      invoke(plane, first, listUsageBuckets, { interval: 'hour' }),
    ),
    await timed(`usage by day, 30d, ${many}`, '100 ms', () => invoke(plane, first, listUsageBuckets, {})),
    await timed(`usage by day, 90d, ${many}`, '100 ms', () =>
      invoke(plane, first, listUsageBuckets, { period: '90d' }),
    ),
    await timed(`savings, lifetime, ${many}`, '100 ms', () => invoke(plane, first, getSavings, { period: 'lifetime' })),
    await timed(`me, ${many}`, '100 ms', () => invoke(plane, first, getMe, {})),
    await timed('me, of 900 calls', '100 ms', () => invoke(plane, other, getMe, {})),
  ]
}

function measureExport(filled: FilledPlane): Promise<Figure> {
  const { chunks } = writeBuyerUsage(filled.plane, { account: buyerOf(0).account, from: 0, to: Date.now() + 1 })
  return timeExport(filled, { what: 'buyers: CSV of calls', goal: '50,000', chunks })
}
