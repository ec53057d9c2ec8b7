import { sql } from 'kysely'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'
import { boolean, bytes, double, doubles, nullable, text } from './tables/column.ts'
import { MARKET_TABLES } from './tables/market.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'

/** The figures of one model and provider in one hour or day. Sums can be added and sketches merged. */
export type Counted = {
  readonly calls: number
  readonly answered: number
  readonly unanswered: number
  readonly trades: number
  readonly volumeMicro: bigint
  readonly listMicro: bigint
  /** The lowest share of the reference price that a buyer paid, in basis points. */
  readonly minKeptBps: number | null
  readonly inputTokens: number
  readonly cacheReadTokens: number
  readonly outputTokens: number
  readonly attemptsGood: number
  readonly attemptsBad: number
  readonly downMs: number
  readonly offers: number
  readonly ttftSamples: number
  readonly ttftSketch: Buffer
  readonly tpsSamples: number
  readonly tpsSketch: Buffer
  /** Usage in units other than tokens; null for tokens alone. */
  readonly media: MediaCounts | null
  /** The medians of the sketches; null without a sample. */
  readonly ttftP50Ms: number | null
  readonly tpsP50: number | null
}

/** Images, pixels, characters and milliseconds. */
export type MediaCounts = (number | null)[]

/** The value in place of a model or a provider in a row of totals. */
export const ALL = '*'

/** A row of figures. `provider` is empty for calls that no provider answered. */
export type FigureRow = Counted & { readonly startsAt: Date; readonly model: string; readonly provider: string }

/**
 * Filters of rows, from an instant (included) to another (excluded) in Unix milliseconds. Covers all models and
 * providers unless some are named.
 */
export type FigureFilter = {
  readonly from: number
  readonly to: number
  readonly models?: readonly string[] | undefined
  readonly providers?: readonly string[] | undefined
  /** `each` selects rows of single models or providers, `all` the totals over them. */
  readonly level: { readonly model: 'each' | 'all'; readonly provider: 'each' | 'all' }
  /** True leaves the sketches out; the rows carry empty ones. */
  readonly isBare?: boolean
}

/**
 * The sums of a row as one text column. A series has thousands of rows, and a column for each number would dominate the
 * cost of the query. {@link figureOf} reads them in this order.
 */
const SUMS = sql`array[calls, answered, unanswered, trades, volume_micro, list_micro, min_kept_bps, input_tokens,
  cache_read_tokens, output_tokens, attempts_good, attempts_bad, down_ms, offers, ttft_samples, tps_samples]::bigint[]::text`
const SKETCHES = sql`, ttft_sketch as "ttftSketch", tps_sketch as "tpsSketch"`
const NO_SKETCH = Buffer.alloc(0)

const READ_ROW = {
  model: MARKET_TABLES.market_hour.model,
  provider: MARKET_TABLES.market_hour.provider,
  ttftP50Ms: MARKET_TABLES.market_hour.ttft_p50_ms,
  tpsP50: MARKET_TABLES.market_hour.tps_p50,
  media: MARKET_TABLES.market_hour.media,
  /** Unix milliseconds. */
  startMs: double(),
  sums: text(),
}
const SKETCH_ROW = {
  ttftSketch: MARKET_TABLES.market_hour.ttft_sketch,
  tpsSketch: MARKET_TABLES.market_hour.tps_sketch,
}
type ReadRow = RowOf<typeof READ_ROW> & Partial<RowOf<typeof SKETCH_ROW>>

/** Rows of one grain, by time, model and provider. */
export async function listFigures(
  db: Database | Trx,
  grain: 'hour' | 'day',
  filter: FigureFilter,
): Promise<FigureRow[]> {
  const conditions = [
    sql`starts_at >= ${new Date(filter.from)}`,
    sql`starts_at < ${new Date(filter.to)}`,
    filter.level.model === 'all' ? sql`model = ${ALL}` : sql`model <> ${ALL}`,
    filter.level.provider === 'all' ? sql`provider = ${ALL}` : sql`provider <> ${ALL}`,
    ...(filter.models === undefined ? [] : [sql`model = any(${[...filter.models]}::text[])`]),
    ...(filter.providers === undefined ? [] : [sql`provider = any(${[...filter.providers]}::text[])`]),
  ]
  const rows: readonly ReadRow[] = await readRows(
    db,
    filter.isBare === true ? READ_ROW : { ...READ_ROW, ...SKETCH_ROW },
    sql`select (extract(epoch from starts_at) * 1000)::float8 as "startMs", model, provider,
      ${SUMS} as sums, ttft_p50_ms as "ttftP50Ms", tps_p50 as "tpsP50", media${filter.isBare === true ? sql`` : SKETCHES}
    from ${tableOf(grain)} where ${sql.join(conditions, sql` and `)}
    order by starts_at, model, provider`,
  )
  return rows.map(figureOf)
}

function figureOf(row: ReadRow): FigureRow {
  const sums = row.sums.slice(1, -1).split(',')
  return {
    startsAt: new Date(row.startMs),
    model: row.model,
    provider: row.provider,
    calls: Number(sums[0]),
    answered: Number(sums[1]),
    unanswered: Number(sums[2]),
    trades: Number(sums[3]),
    volumeMicro: BigInt(sums[4] ?? 0),
    listMicro: BigInt(sums[5] ?? 0),
    minKeptBps: sums[6] === 'NULL' ? null : Number(sums[6]),
    inputTokens: Number(sums[7]),
    cacheReadTokens: Number(sums[8]),
    outputTokens: Number(sums[9]),
    attemptsGood: Number(sums[10]),
    attemptsBad: Number(sums[11]),
    downMs: Number(sums[12]),
    offers: Number(sums[13]),
    ttftSamples: Number(sums[14]),
    tpsSamples: Number(sums[15]),
    ttftSketch: row.ttftSketch ?? NO_SKETCH,
    tpsSketch: row.tpsSketch ?? NO_SKETCH,
    ttftP50Ms: row.ttftP50Ms,
    tpsP50: row.tpsP50,
    media: row.media,
  }
}

/** Hours miss calls that wait longer than this to be summed. */
const SUMMED_LATE = sql`interval '2 minutes'`

/**
 * False while figures of a time span (Unix milliseconds, its end excluded) are incomplete: an hour or a day was never
 * summed, calls have waited for their sum for long, or nothing is summed at all.
 */
export async function areFiguresSummed(
  db: Database | Trx,
  grain: 'hour' | 'day',
  { from, to }: { readonly from: number; readonly to: number },
): Promise<boolean> {
  const [begin, end] = [new Date(from), new Date(to)]
  const due = (some: 'hour' | 'day') => sql`exists (select from market_due d
    where d.grain = ${some} and d.starts_at >= ${begin} and d.starts_at < ${end}
      and not exists (select from ${tableOf(some)} f where f.starts_at = d.starts_at))`
  const rows = await readRows(
    db,
    { isSummed: boolean() },
    // The index by posting finds the few calls after the mark; in one condition the planner reads all of the span.
    sql`with mark as (select max(looked_at) as at from market_watermark),
      waiting as materialized (select rid from settlement
        where posted_at > coalesce((select at from mark), '-infinity'::timestamptz))
    select not (${due('hour')} or ${grain === 'day' ? due('day') : sql`false`} or (
      (select at is null or at < now() - ${SUMMED_LATE} from mark)
        or not exists (select from market_hour where starts_at >= ${begin} and starts_at < ${end})
      ) and exists (select from waiting
        where rid >= ulid_floor(${begin}::timestamptz) and rid < ulid_floor(${end}::timestamptz))
    ) as "isSummed"`,
  )
  return rows[0]?.isSummed ?? false
}

/** Replaces the rows of whole hours or days. `starts` are in Unix milliseconds. */
export async function replaceFigures(
  trx: Trx,
  grain: 'hour' | 'day',
  starts: readonly number[],
  rows: readonly FigureRow[],
): Promise<void> {
  const dates = starts.map((start) => new Date(start))
  await sql`delete from ${tableOf(grain)} where starts_at = any(${dates}::timestamptz[])`.execute(trx)
  const texts = rows.map((row) => ({
    ...row,
    volumeMicro: row.volumeMicro.toString(),
    listMicro: row.listMicro.toString(),
    ttftSketch: row.ttftSketch.toString('hex'),
    tpsSketch: row.tpsSketch.toString('hex'),
  }))
  await sql`insert into ${tableOf(grain)} (starts_at, model, provider, calls, answered, unanswered, trades, volume_micro,
      list_micro, min_kept_bps, input_tokens, cache_read_tokens, output_tokens, attempts_good, attempts_bad, down_ms,
      offers, ttft_samples, ttft_sketch, tps_samples, tps_sketch, ttft_p50_ms, tps_p50, media)
    select "startsAt", model, provider, calls, answered, unanswered, trades, "volumeMicro", "listMicro", "minKeptBps",
      "inputTokens", "cacheReadTokens", "outputTokens", "attemptsGood", "attemptsBad", "downMs", offers,
      "ttftSamples", decode("ttftSketch", 'hex'), "tpsSamples", decode("tpsSketch", 'hex'), "ttftP50Ms", "tpsP50", media
    from jsonb_to_recordset(${JSON.stringify(texts)}::jsonb) as r ("startsAt" timestamptz, model text, provider text,
      calls bigint, answered bigint, unanswered bigint, trades bigint, "volumeMicro" bigint, "listMicro" bigint,
      "minKeptBps" smallint, "inputTokens" bigint, "cacheReadTokens" bigint, "outputTokens" bigint,
      "attemptsGood" bigint, "attemptsBad" bigint, "downMs" bigint, offers int, "ttftSamples" bigint,
      "ttftSketch" text, "tpsSamples" bigint, "tpsSketch" text, "ttftP50Ms" float8, "tpsP50" float8, media float8[])`.execute(
    trx,
  )
}

function tableOf(grain: 'hour' | 'day') {
  return sql.table(grain === 'hour' ? 'market_hour' : 'market_day')
}

/** The published row of a model as JSON. The caller parses it with the contract's schema. */
const STORED_ROW = {
  model: MARKET_TABLES.market_offer_hour.model,
  body: MARKET_TABLES.market_row.body,
}
export type StoredRow = RowOf<typeof STORED_ROW>

/** The stored rows of the given models, or of all. */
export async function listMarketRows(db: Database | Trx, models?: readonly string[]): Promise<StoredRow[]> {
  const chosen = models === undefined ? sql`` : sql`where model = any(${[...models]}::text[])`
  const rows = await readRows(db, STORED_ROW, sql`select model, body from market_row ${chosen} order by model`)
  return rows
}

/** Replaces the rows of models. Their window begins at `from` (Unix milliseconds). */
export async function putMarketRows(trx: Trx, from: number, rows: readonly { model: string }[]): Promise<void> {
  await sql`insert into market_row (model, window_from, body)
    select body ->> 'model', ${new Date(from)}, body from jsonb_array_elements(${JSON.stringify(rows)}::jsonb) body
    on conflict (model) do update set window_from = excluded.window_from, body = excluded.body`.execute(trx)
}

/** The models whose row has a window that began before `from` (Unix milliseconds). */
export async function listStaleRows(trx: Trx, from: number): Promise<string[]> {
  const rows = await readRows(
    trx,
    { model: MARKET_TABLES.market_row.model },
    sql`select model from market_row
    where window_from <> ${new Date(from)} order by model`,
  )
  return rows.map((row) => row.model)
}

/** The sales of models' offers since an instant (Unix milliseconds), in the published form, by model. */
export async function listTrades(
  db: Database | Trx,
  from: number,
  models?: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  const chosen = models === undefined ? sql`` : sql`and model = any(${[...models]}::text[])`
  const rows = await readRows(
    db,
    { model: MARKET_TABLES.market_offer_hour.model, text: text() },
    sql`select model,
      string_agg(offer || ' ' || trades || ' ' || volume_micro, ',' order by offer) as text
    from (
      select model, offer, sum(trades) as trades, sum(volume_micro) as volume_micro
      from market_offer_hour where starts_at >= ${new Date(from)} ${chosen}
      group by model, offer having sum(trades) > 0
    ) sold group by model order by model`,
  )
  return new Map(rows.map((row) => [row.model, row.text]))
}

/**
 * Sketches of the time to the first token since an instant (Unix milliseconds), for the offers of some models that have
 * enough samples. Stored sketches are merged by joining their bytes.
 */
export async function listOfferSpeeds(
  db: Database | Trx,
  models: readonly string[],
  { from, minSamples }: { readonly from: number; readonly minSamples: number },
): Promise<{ readonly offer: string; readonly sketch: Buffer }[]> {
  const rows = await readRows(
    db,
    { offer: MARKET_TABLES.market_offer_hour.offer, sketch: bytes() },
    sql`select offer, string_agg(ttft_sketch, ''::bytea) as sketch
    from market_offer_hour where model = any(${[...models]}::text[]) and starts_at >= ${new Date(from)} and ttft_samples > 0
    group by offer having sum(ttft_samples) >= ${minSamples} order by offer`,
  )
  return rows
}

/** The models with a sale since an instant (Unix milliseconds). */
export async function listTradedModels(db: Database, from: number): Promise<string[]> {
  const rows = await readRows(
    db,
    { model: MARKET_TABLES.market_offer_hour.model },
    sql`select distinct model from market_offer_hour
    where starts_at >= ${new Date(from)} order by model`,
  )
  return rows.map((row) => row.model)
}

/** A charged call without buyer and seller. */
const TRADE_ROW = {
  model: MARKET_TABLES.market_offer_hour.model,
  inputTokens: double(),
  outputTokens: double(),
  media: nullable(doubles()),
  chargeMicro: SETTLEMENT_TABLES.settlement.charge,
  at: SETTLEMENT_TABLES.settlement.captured_at,
}
export type Trade = RowOf<typeof TRADE_ROW>

/** The latest charged calls, newest first. */
export async function listLatestTrades(db: Database, limit: number, model?: string): Promise<Trade[]> {
  const chosen = model === undefined ? sql`` : sql`and model = ${model}`
  const rows = await readRows(
    db,
    TRADE_ROW,
    sql`select model,
      (input_tokens + cache_read_tokens + cache_write_tokens + audio_input_tokens)::float8 as "inputTokens",
      (output_tokens + reasoning_tokens + audio_output_tokens)::float8 as "outputTokens",
      array[images, pixels, characters, milliseconds]::float8[] as media, charge as "chargeMicro", captured_at as at
    from settlement where charge > 0 and served_by = 'marketplace' ${chosen} order by rid desc limit ${limit}`,
  )
  return rows
}

/** A version of a model's reference prices. `unitPrices` is JSON; the caller parses it with its schema. */
const PRICE_VERSION_ROW = {
  version: CATALOG_TABLES.model_price.version,
  effectiveAt: CATALOG_TABLES.model_price.effective_at,
  source: CATALOG_TABLES.model_price.source,
  unitPrices: CATALOG_TABLES.model_price.unit_prices,
}
export type PriceVersionRow = RowOf<typeof PRICE_VERSION_ROW>

/** The reference prices of a model that were in effect between two instants (Unix milliseconds), oldest first. */
export async function listPriceVersions(
  db: Database,
  model: string,
  span: { readonly from: number; readonly to: number },
): Promise<PriceVersionRow[]> {
  const rows = await readRows(
    db,
    PRICE_VERSION_ROW,
    sql`select version, effective_at as "effectiveAt", source,
      unit_prices as "unitPrices"
    from model_price where model = ${model} and effective_at < ${new Date(span.to)}
      and effective_at >= coalesce((select max(effective_at) from model_price
        where model = ${model} and effective_at <= ${new Date(span.from)}), '-infinity')
    order by effective_at, version`,
  )
  return rows
}
