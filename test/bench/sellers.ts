import { sql } from 'kysely'
import type { Database } from '#control-plane/db/database.ts'
import type { SellerActor } from '#control-plane/operation/actor.ts'
import { machineOperator } from '#control-plane/operation/actor.ts'
import { invoke } from '#control-plane/operation/invoke.ts'
import type { ControlPlane } from '#control-plane/plane.ts'
import { importCatalog, putProvider } from '#control-plane/services/catalog/catalog.ts'
import { getEarnings } from '#control-plane/services/earnings/earnings.ts'
import { listSalesHistory } from '#control-plane/services/earnings/sales.ts'
import { writeSellerUsage } from '#control-plane/services/earnings/seller-usage-export.ts'
import { bulkCreateOffers } from '#control-plane/services/offers/bulk.ts'
import { createOffer } from '#control-plane/services/offers/create.ts'
import { listOffers } from '#control-plane/services/offers/read.ts'
import { textModel } from '#test/support/facts/text-model.ts'
import type { Figure, FilledPlane } from './filled-plane.ts'
import { median, onFilledPlane, timeExport, timeRuns } from './filled-plane.ts'

const SELLERS = 1_000
const OFFERS_EACH = 100
const MODELS = 200
const SALES = Number(process.env['BENCH_SALES'] ?? 1_000_000)
/** Sales of the seller with the most sales. The others have equal shares of the rest. */
const SALES_OF_FIRST = SALES / 10
const ROWS_AT_ONCE = 50_000
const DAYS = 90
const CREATED = 1_500
const CREATED_AT_ONCE = 32
const BASE_URL = 'https://provider.example/v1'

/**
 * Times that a seller waits in a market of 100,000 offers and a million sales. The provider answers at once, so that
 * only the market's work is measured.
 */
export function measureSellers(): Promise<Figure[]> {
  const overrides = {
    probe: async () => ({ isAccepted: true, latencyMs: 0, usage: {} }) as const,
    listModels: async () => ({ isAccepted: true, latencyMs: 0, models: new Set(modelNames()) }) as const,
  }
  return onFilledPlane({ overrides, prepare: addCatalog, fill }, async (filled) => [
    await measureCreation(filled),
    await measureBulk(filled.plane),
    ...(await measureReads(filled)),
    await measureExport(filled),
  ])
}

const modelNames = () => Array.from({ length: MODELS }, (_, at) => `model-${at}`)
const sellerOf = (at: number): SellerActor => ({
  kind: 'seller',
  keyId: `key_${at}`,
  user: `usr_${at}`,
  account: `acc_s${at}`,
  wallet: `0x${at.toString(16).padStart(40, '0')}`,
})

async function addCatalog(plane: ControlPlane): Promise<void> {
  const operator = machineOperator('bench')
  await invoke(plane, operator, putProvider, { id: 'provider', name: 'P', baseUrl: BASE_URL, isTrusted: true })
  await invoke(plane, operator, importCatalog, { source: 'bench', models: modelNames().map((name) => textModel(name)) })
}

/** Sales are spread evenly over the last 90 days. */
async function fill(db: Database): Promise<void> {
  await sql`insert into account (id, kind, owner) select 'acc_' || side || n, kind, 'usr_' || n
    from generate_series(0, ${SELLERS - 1}) n,
      (values ('s', 'seller_available'), ('b', 'buyer_credit')) sides(side, kind)`.execute(db)
  await sql`insert into app_user (id, wallet, buyer_account, seller_account, created_at)
    select 'usr_' || n, '0x' || lpad(to_hex(n), 40, '0'), 'acc_b' || n, 'acc_s' || n, now()
    from generate_series(0, ${SELLERS - 1}) n`.execute(db)
  await sql`insert into credential (id, tenant, host, purpose, base_url, fingerprint, sealed, created_at)
    select 'crd_' || n, 'acc_s' || n, 'provider.example', 'offer', ${BASE_URL}, lpad(to_hex(n), 64, '0'),
      jsonb_build_object('v', 1, 'id', 'crd_' || n, 'tenant', 'acc_s' || n, 'host', 'provider.example', 'purpose', 'offer',
        'ringKeyId', 'k1', 'wrapIv', repeat('a', 16), 'wrappedKey', repeat('a', 64), 'iv', repeat('a', 16),
        'ciphertext', repeat('a', 96)), now()
    from generate_series(0, ${SELLERS - 1}) n`.execute(db)
  for (let from = 0; from < SELLERS * OFFERS_EACH; from += ROWS_AT_ONCE) {
    await sql`insert into offer (id, seller_account, model, provider, credential_id, fingerprint, base_url, api_format,
        provider_model, pricing_mode, kept_bps, status, created_at, updated_at)
      select 'ofr_' || lpad(n::text, 26, '0'), 'acc_s' || s, model, 'provider', 'crd_' || s, lpad(to_hex(s), 64, '0'),
        ${BASE_URL}, 'openai', model, 'discount', 5000 + n % 4000, 'active', now(), now()
      from (select n, n % ${SELLERS} as s, 'model-' || (n / ${SELLERS} * 7 + n) % ${MODELS} as model
        from generate_series(${from}::int, ${from + ROWS_AT_ONCE - 1}::int) n) made on conflict do nothing`.execute(db)
  }
  await sql`select make_month_partitions(now() - interval '90 days', 3)`.execute(db)
  for (let from = 0; from < SALES; from += ROWS_AT_ONCE) await insertSales(db, from)
  await sql`analyze offer`.execute(db)
  await sql`vacuum analyze settlement`.execute(db)
}

async function insertSales(db: Database, from: number): Promise<void> {
  await sql`insert into settlement (rid, account, key_id, seller_account, offer, provider, model, requested_model, wire,
      endpoint, rail, served_by, node, is_streamed, outcome, hold_amount, charge, list_cost, seller_net, fee, fee_bps,
      kept_bps, price_version, usage_source, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens,
      reasoning_tokens, audio_input_tokens, audio_output_tokens, characters, images, pixels, milliseconds, calls,
      duration_ms, overhead_ms, attempts, anomalies, payload_hash, started_at, captured_at)
    select left(ulid_floor(at), 10) || upper(left(md5(n::text), 16)), 'acc_b' || n % 50, 'key_' || n % 50, 'acc_s' || s,
      'ofr_' || lpad(s::text, 26, '0'), 'provider', 'model-' || n % 8, 'model-' || n % 8, 'chat', 'chat', 'credit',
      'marketplace', 'node', false, 'succeeded', 1000, 1000, 2000, 950, 50, 500, 5000, 'v1', 'reported', 800, 100, 0, 200,
      0, 0, 0, 0, 0, 0, 0, 0, 900, 0.5, '[]'::jsonb, '{}', md5(n::text) || md5(n::text), at, at
    from (select n, case when n % ${SALES / SALES_OF_FIRST} = 0 then 0 else 1 + n % ${SELLERS - 1} end as s,
        now() - (n::float8 / ${SALES} * ${DAYS - 1}) * interval '1 day' as at
      from generate_series(${from}::int, ${from + ROWS_AT_ONCE - 1}::int) n) sales order by 1`.execute(db)
}

async function measureCreation({ plane, usedMs }: FilledPlane): Promise<Figure> {
  const models = modelNames()
  const create = async (at: number) => {
    const input = { model: models[at % MODELS], apiKey: `sk-bench-${at}-abcdef`, sellerBaseUrl: BASE_URL, discount: 10 }
    const options = { idempotencyKey: `create-${at}` }
    await invoke(plane, sellerOf(at % SELLERS), createOffer, input, options)
  }
  let next = 0
  const lane = async (end: number) => {
    while (next < end) await create(next++)
  }
  const run = async (count: number) => {
    const end = next + count
    const startedAt = performance.now()
    const [before, usedBefore] = [process.cpuUsage(), usedMs()]
    await Promise.all(Array.from({ length: CREATED_AT_ONCE }, () => lane(end)))
    const { user, system } = process.cpuUsage(before)
    const used = (usedMs() - usedBefore) / count
    return { seconds: (performance.now() - startedAt) / 1_000, ownMs: (user + system) / 1_000 / count, used }
  }
  await run(CREATED / 5)
  const { seconds, ownMs, used } = await run(CREATED)
  const processor = `${used.toFixed(1)} ms of processor each, ${ownMs.toFixed(1)} of them our own`
  const beside = `${CREATED} at ${CREATED_AT_ONCE} at once among ${SELLERS * OFFERS_EACH}, ${processor} (goal 300)`
  return { what: 'sellers: offers created without a probe', figure: `${Math.round(CREATED / seconds)}/s`, beside }
}

async function measureBulk(plane: ControlPlane): Promise<Figure> {
  const seconds: number[] = []
  for (let time = 0; time < 3; time++) {
    const startedAt = performance.now()
    const run = await invoke(plane, sellerOf(time + 10), bulkCreateOffers, {
      apiKey: `sk-bulk-${time}-abcdef`,
      baseUrl: BASE_URL,
      offers: modelNames().map((model) => ({ model, discount: 10 })),
    })
    const lines = await run.done
    if (lines.some((line) => line.status !== 'created')) throw new Error('a row of the bulk was refused')
    seconds.push((performance.now() - startedAt) / 1_000)
  }
  const figure = `${median(seconds).toFixed(2)} s`
  return { what: 'sellers: bulk of 200 with an instant provider', figure, beside: 'median of 3 (goal 2 s)' }
}

async function measureReads(filled: FilledPlane): Promise<Figure[]> {
  const { plane } = filled
  const first = sellerOf(0)
  const other = sellerOf(500)
  const timed = (what: string, goal: string, run: () => Promise<unknown>) =>
    timeRuns(filled, { what: `sellers: ${what}`, goal, run })
  const figures: Figure[] = []
  let offers: string | undefined
  figures.push(
    await timed('a page of 100 offers', '20 ms', async () => {
      const page = { maxItems: 100, ...(offers === undefined ? {} : { nextToken: offers }) }
      offers = (await invoke(plane, first, listOffers, page)).nextToken ?? undefined
    }),
  )
  let cursor: string | undefined
  figures.push(
    await timed(`a page of 100 of ${SALES_OF_FIRST} sales`, '20 ms', async () => {
      const page = { limit: 100, ...(cursor === undefined ? {} : { cursor }) }
      cursor = (await invoke(plane, first, listSalesHistory, page)).nextToken ?? undefined
    }),
  )
  for (const range of ['7d', '30d', '90d', 'lifetime']) {
    const few = Math.round((SALES - SALES_OF_FIRST) / SELLERS)
    const many = `earnings ${range}, seller of ${SALES_OF_FIRST} sales`
    figures.push(await timed(many, '100 ms', () => invoke(plane, first, getEarnings, { range })))
    if (range !== 'lifetime') continue
    const few_ = `earnings ${range}, seller of ${few} sales`
    figures.push(await timed(few_, '100 ms', () => invoke(plane, other, getEarnings, { range })))
  }
  return figures
}

function measureExport(filled: FilledPlane): Promise<Figure> {
  const query = { seller: sellerOf(0).account, from: 0, to: Date.now() + 1, limit: SALES }
  const { chunks } = writeSellerUsage(filled.plane, query)
  return timeExport(filled, { what: 'sellers: CSV of sales', goal: '50,000', chunks })
}
