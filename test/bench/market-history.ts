import { sql } from 'kysely'
import type { Database } from '#control-plane/db/database.ts'

/** The size of a market to measure. Its rows are inserted by SQL, because only reads are measured. */
export type MarketSize = {
  readonly models: number
  readonly providers: number
  readonly sellers: number
  readonly offers: number
  /** Usage rows, and the hours before now over which they are spread. */
  readonly calls: number
  readonly hours: number
}

const STATEMENTS_PER_FILL = 20

/** Fills an empty database. Offers are spread evenly over models, calls over offers, models and hours. */
export async function fillMarket(db: Database, size: MarketSize): Promise<void> {
  await db.connection().execute(async (connection) => {
    await sql`select set_config('statement_timeout', '0', false), set_config('synchronous_commit', 'off', false)`.execute(
      connection,
    )
    await fillCatalog(connection, size)
    await fillOffers(connection, size)
    for (let part = 0; part < STATEMENTS_PER_FILL; part++) await fillCalls(connection, size, part)
    await sql`vacuum analyze settlement`.execute(connection)
    await sql`vacuum analyze offer, credential, provider`.execute(connection)
    await sql`reset all`.execute(connection)
  })
}

async function fillCatalog(db: Database, { models, providers, sellers }: MarketSize): Promise<void> {
  await sql`insert into account (id, kind, owner)
    select 'acc_seller' || n, 'seller_available', 'usr_' || n from generate_series(0, ${sellers - 1}::int) n`.execute(
    db,
  )
  await sql`insert into provider (id, name, base_url, host, is_trusted, updated_at)
    select 'p' || n, 'P' || n, 'https://p' || n || '.example/v1', 'p' || n || '.example', true, now()
    from generate_series(0, ${providers - 1}::int) n`.execute(db)
  await sql`insert into model (id, is_sandbox, body, updated_at)
    select 'model-' || n, false, jsonb_build_object('id', 'model-' || n, 'lab', 'lab', 'name', 'M' || n, 'description', '',
      'created', 1760000000, 'aliases', '[]'::jsonb, 'contextLength', 128000, 'maxCompletionTokens', 16000,
      'inputModalities', '["text"]'::jsonb, 'outputModalities', '["text"]'::jsonb, 'features', '["streaming"]'::jsonb,
      'parameters', '["temperature"]'::jsonb, 'endpoints', '["chat"]'::jsonb, 'imageTokens', 8192, 'isSandbox', false,
      'mediaUnit', null), now()
    from generate_series(0, ${models - 1}::int) n`.execute(db)
  await sql`insert into model_price (version, model, effective_at, source, unit_prices, overrides, minimums)
    select 'v' || n, 'model-' || n, now() - interval '90 days', 'bench', '{"input":"250000","output":"2000000"}'::jsonb,
      '[]'::jsonb, '{}'::jsonb
    from generate_series(0, ${models - 1}::int) n`.execute(db)
}

async function fillOffers(db: Database, { models, providers, sellers, offers }: MarketSize): Promise<void> {
  const numbers = sql`generate_series(0, ${offers - 1}::int) n`
  await sql`insert into credential (id, tenant, host, purpose, base_url, fingerprint, sealed, created_at)
    select 'crd_' || n, tenant, host, 'offer', 'https://' || host || '/v1', fingerprint, jsonb_build_object('v', 1,
      'id', 'crd_' || n, 'tenant', tenant, 'host', host, 'purpose', 'offer', 'ringKeyId', 'k1', 'wrapIv',
      left(fingerprint, 16), 'wrappedKey', fingerprint, 'iv', left(fingerprint, 16), 'ciphertext', fingerprint), now()
    from (select n, 'acc_seller' || n / ${models}::int % ${sellers}::int as tenant, 'p' || n / ${models}::int % ${providers}::int || '.example' as host,
      encode(sha256(n::text::bytea), 'hex') as fingerprint from ${numbers}) made`.execute(db)
  await sql`insert into offer (id, seller_account, model, provider, credential_id, fingerprint, base_url, api_format,
      provider_model, pricing_mode, kept_bps, cap_daily_micro, status, created_at, updated_at)
    select 'ofr_' || n, 'acc_seller' || n / ${models}::int % ${sellers}::int, 'model-' || n % ${models}::int,
      'p' || n / ${models}::int % ${providers}::int, 'crd_' || n, encode(sha256(n::text::bytea), 'hex'),
      'https://p' || n / ${models}::int % ${providers}::int || '.example/v1', 'openai', 'model-' || n % ${models}::int, 'discount',
      4000 + (n * 7919) % 5000, case when n % 3 = 0 then 5000000 end, 'active', now(), now()
    from ${numbers}`.execute(db)
}

/**
 * Inserts one part of the calls. Every twentieth call fails at its provider, and one in three streams reads from a
 * cache.
 */
async function fillCalls(db: Database, size: MarketSize, part: number): Promise<void> {
  const { models, providers, sellers, offers, calls, hours } = size
  const [from, to] = [(calls / STATEMENTS_PER_FILL) * part, (calls / STATEMENTS_PER_FILL) * (part + 1) - 1]
  await sql`insert into settlement (rid, account, seller_account, offer, provider, model, requested_model, wire, endpoint,
      rail, served_by, node, is_streamed, outcome, hold_amount, charge, list_cost, seller_net, fee, fee_bps, kept_bps,
      price_version, usage_source, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
      audio_input_tokens, audio_output_tokens, characters, images, pixels, milliseconds, calls, ttft_ms, stream_ms,
      duration_ms, overhead_ms, attempts, anomalies, payload_hash, started_at, captured_at)
    select left(ulid_floor(at), 10) || upper(right(md5(n::text), 16)), 'acc_buyer', 'acc_seller' || o / ${models}::int % ${sellers}::int,
      'ofr_' || o, 'p' || o / ${models}::int % ${providers}::int, 'model-' || o % ${models}::int, 'x', 'chat', 'chat', 'credit',
      'marketplace', 'bench', true, case when n % 20 = 0 then 'failed' else 'succeeded' end, charge, charge, charge * 2,
      charge * 9500 / 10000, charge - charge * 9500 / 10000, 500, 5000, 'v', 'reported', 200 + n % 900,
      case when n % 3 = 0 then 600 else 0 end, 0, 50 + n % 700, 0, 0, 0, 0, 0, 0, 0, 0,
      100 + (n * 7919 % 4000)::int, 500 + (n * 104729 % 20000)::int, 3000, 0.5,
      jsonb_build_array(jsonb_build_object('offer', 'ofr_' || o, 'provider', 'p' || o / ${models}::int % ${providers}::int, 'status', 200,
        'ms', 900, 'errorClass', case when n % 20 = 0 then 'server_error' end)),
      '{}', repeat('0', 64), at, at
    from (select n, (n * 15485863) % ${offers}::bigint as o, case when n % 20 = 0 then 0 else 100 + n % 5000 end as charge,
        now() - make_interval(secs => ${hours * 3_600}::float8 * ((n * 32452843) % ${calls}::bigint) / ${calls}::bigint) as at
      from generate_series(${from}::bigint, ${to}::bigint) n) made`.execute(db)
}

/**
 * Fills a month of the health log with this many lines. Offers are backed off for two minutes, and each is back after
 * one and a half.
 */
export async function fillHealthLog(db: Database, { models, offers }: MarketSize, lines: number): Promise<void> {
  const spells = lines / 2
  await db.connection().execute(async (connection) => {
    await sql`select set_config('statement_timeout', '0', false), set_config('synchronous_commit', 'off', false)`.execute(
      connection,
    )
    await sql`insert into health_log (id, at, node, offer, model, error_class, detail, action, backed_off_until, stored_at)
      select 'hlt_' || n || '_' || k, at + k * interval '90 seconds', 'bench', 'ofr_' || o, 'model-' || o % ${models}::int,
        case when k = 0 then (array['timeout', 'rate_limited', 'server_error'])[1 + n % 3] end, '',
        (array['backed_off', 'recovered'])[k + 1], case when k = 0 then at + interval '2 minutes' end, at
      from (select n, (n::bigint * 15485863) % ${offers}::int as o,
          now() - interval '31 days' * (1 - n::float8 / ${spells}::int) as at
        from generate_series(1, ${spells}::int) n) made, generate_series(0, 1) k order by n, k`.execute(connection)
    await sql`vacuum analyze health_log`.execute(connection)
    await sql`reset all`.execute(connection)
  })
}
