import { sql } from 'kysely'
import { HOUR, MINUTE } from '#shared/clock.ts'
import { ulidTime } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, bytes, double, doubles, integer, nullable, text, timestamp } from './tables/column.ts'
import { MARKET_TABLES } from './tables/market.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** An hour of heavy traffic takes longer to compute than the usual statement timeout allows. */
const ROLL_UP_TIMEOUT_MS = 2 * MINUTE
const ROLL_UP_LOCK = 7_305_080
/** A row is stamped when its transaction begins and becomes visible at its commit. No transaction lives this long. */
export const OVERLAP_MS = 2 * MINUTE
/** Length of a ULID prefix whose last character counts 32.768 seconds. */
const PREFIX_CHARS = 7
const PREFIX_MS = 32_768
const ULID_ZERO = '0'.repeat(26 - PREFIX_CHARS)

/** The length of a bucket: an hour or a day. */
export type Grain = 'hour' | 'day'

/**
 * Lets one roll-up run at a time, with time and memory for an hour of heavy traffic. The lock and the settings end with
 * the transaction.
 */
export async function lockRollUp(trx: Trx): Promise<void> {
  await sql`select set_config('statement_timeout', ${ROLL_UP_TIMEOUT_MS.toString()}, true),
    set_config('work_mem', '64MB', true)`.execute(trx)
  await sql`select pg_advisory_xact_lock(${sql.lit(ROLL_UP_LOCK)})`.execute(trx)
}

/**
 * Marks every hour with new settlements or health events, however late they arrived, and moves the watermark. A marked
 * hour is computed whole, so reading a row twice changes nothing.
 */
export async function markDueHours(trx: Trx): Promise<void> {
  const marks = await readRows(
    trx,
    { now: timestamp(), since: nullable(timestamp()) },
    sql`select now() as now,
    (select looked_at - make_interval(secs => ${OVERLAP_MS / 1_000}) from market_watermark) as since`,
  )
  const { now = new Date(0), since = null } = marks[0] ?? {}
  const calls = await readRows(
    trx,
    { prefix: text() },
    sql`select distinct left(rid, ${PREFIX_CHARS}) as prefix
    from settlement where posted_at > coalesce(${since}, '-infinity'::timestamptz)`,
  )
  const spells = await readRows(
    trx,
    { first: OFFER_TABLES.health_log.at, last: timestamp() },
    sql`
    select at as first, least(coalesce(backed_off_until, at + interval '1 hour'), at + interval '1 day') as last
    from health_log where action in ('backed_off', 'recovered')
      and stored_at > coalesce(${since}, '-infinity'::timestamptz)`,
  )
  const hours = new Set<number>()
  for (const { prefix } of calls) addHours(hours, ulidTime(prefix + ULID_ZERO), PREFIX_MS)
  for (const { first, last } of spells) addHours(hours, first.getTime(), last.getTime() - first.getTime())
  await markDue(trx, 'hour', [...hours])
  await sql`insert into market_watermark (looked_at) values (${now})
    on conflict (only_one) do update set looked_at = excluded.looked_at`.execute(trx)
}

function addHours(hours: Set<number>, from: number, lengthMs: number): void {
  for (let hour = Math.floor(from / HOUR); hour <= Math.floor((from + lengthMs) / HOUR); hour++) hours.add(hour * HOUR)
}

/** Marks hours or days as due, given by their beginnings in Unix milliseconds. A marked entry keeps its time. */
export async function markDue(trx: Trx, grain: Grain, starts: readonly number[]): Promise<void> {
  if (starts.length === 0) return
  await sql`insert into market_due (grain, starts_at)
    select ${grain}, starts from unnest(${starts.map(toDate)}::timestamptz[]) starts
    on conflict do nothing`.execute(trx)
}

/**
 * Removes and returns the oldest marks of at most `limit` hours or days. Takes only marks older than `agedMs`
 * milliseconds, and those of days that were never summed.
 */
export async function takeDue(
  trx: Trx,
  { grain, limit, agedMs }: { readonly grain: Grain; readonly limit: number; readonly agedMs: number },
): Promise<number[]> {
  const rows = await readRows(
    trx,
    { startsAt: MARKET_TABLES.market_due.starts_at },
    sql`delete from market_due where grain = ${grain} and starts_at = any(array(
      select starts_at from market_due
      where grain = ${grain} and (since <= now() - make_interval(secs => ${agedMs / 1_000})
        or not exists (select from market_day d where d.starts_at = market_due.starts_at))
      order by starts_at limit ${limit}))
    returning starts_at as "startsAt"`,
  )
  return rows.map((row) => row.startsAt.getTime()).sort((left, right) => left - right)
}

/** The figures of each model and provider in an hour. The medians are computed later from the sketches. */
const COUNTED_HOUR_ROW = {
  startsAt: MARKET_TABLES.market_due.starts_at,
  model: text(),
  provider: text(),
  calls: double(),
  answered: double(),
  unanswered: double(),
  trades: double(),
  volumeMicro: bigint(),
  listMicro: bigint(),
  minKeptBps: nullable(integer()),
  inputTokens: double(),
  cacheReadTokens: double(),
  outputTokens: double(),
  attemptsGood: double(),
  attemptsBad: double(),
  downMs: double(),
  offers: integer(),
  ttftSamples: double(),
  ttftSketch: bytes(),
  tpsSamples: double(),
  tpsSketch: bytes(),
  media: nullable(doubles()),
}
export type CountedHour = RowOf<typeof COUNTED_HOUR_ROW>

/**
 * Counts the calls of the given hours from settlements and the health log. Replaces the stored hours of their offers.
 */
export async function countHours(trx: Trx, hours: readonly number[]): Promise<CountedHour[]> {
  const starts = hours.map(toDate)
  await sql`delete from market_offer_hour where starts_at = any(${starts}::timestamptz[])`.execute(trx)
  await sql`create temporary table rolled_call (starts_at timestamptz, model text collate "C", provider text collate "C",
    offer text collate "C", outcome text, charge bigint, seller_net bigint, list_cost bigint, kept_bps smallint, input_tokens bigint,
    cache_read_tokens bigint, output_tokens bigint, attempts jsonb, ttft smallint, tps smallint, is_faulty boolean,
    images bigint, pixels bigint, characters bigint, milliseconds bigint)
    on commit drop`.execute(trx)
  await sql`insert into rolled_call ${callsOf(starts)}`.execute(trx)
  await sql`analyze rolled_call (starts_at, model, provider, offer, ttft, tps)`.execute(trx)
  const rows = await readCounted(trx, starts)
  await insertOfferHours(trx)
  await sql`drop table rolled_call`.execute(trx)
  return rows
}

/** The market calls of some hours: those that sellers served, and those that no seller could serve. */
function callsOf(starts: readonly Date[]) {
  return sql`select h.starts_at, s.model, coalesce(s.provider, '') as provider, s.offer, s.outcome, s.charge, s.seller_net, s.list_cost,
      s.kept_bps, s.input_tokens + s.cache_write_tokens + s.cache_read_tokens as input_tokens, s.cache_read_tokens,
      s.output_tokens + s.reasoning_tokens as output_tokens, s.attempts,
      case when s.ttft_ms is not null then sketch_bucket(s.ttft_ms) end as ttft,
      case when s.is_streamed and s.stream_ms > 0 and s.output_tokens + s.reasoning_tokens > 1
        then sketch_bucket((s.output_tokens + s.reasoning_tokens) * 1000::float8 / s.stream_ms) end as tps,
      s.outcome in ('failed', 'cut') and exists (select 1 from jsonb_array_elements(s.attempts) a
        where ${isFault(sql`a ->> 'errorClass'`)}) as is_faulty, s.images, s.pixels, s.characters, s.milliseconds
    from unnest(${starts}::timestamptz[]) as h (starts_at)
    join settlement s on s.rid >= ulid_floor(h.starts_at) and s.rid < ulid_floor(h.starts_at + interval '1 hour')
    where s.served_by is distinct from 'own_key' and s.served_by is distinct from 'fallback_key'`
}

/** The condition for an error of the provider. A buyer's bad request is not downtime of an offer. */
function isFault(errorClass: ReturnType<typeof sql>) {
  return sql`${errorClass} is not null and ${errorClass} not in ('bad_request', 'context_length')`
}

async function readCounted(trx: Trx, starts: readonly Date[]): Promise<CountedHour[]> {
  const rows = await readRows(
    trx,
    COUNTED_HOUR_ROW,
    sql`with totals as (
      select starts_at, model, provider, count(*) as calls,
        count(*) filter (where outcome in ('succeeded', 'cancelled')) as answered,
        count(*) filter (where outcome in ('failed', 'cut') and is_faulty) as unanswered,
        count(*) filter (where charge > 0) as trades, sum(charge) as volume_micro, sum(list_cost) as list_micro,
        min(kept_bps) filter (where charge > 0) as min_kept_bps, sum(input_tokens) as input_tokens,
        sum(cache_read_tokens) as cache_read_tokens, sum(output_tokens) as output_tokens,
        case when sum(images + pixels + characters + milliseconds) > 0
          then array[sum(images), sum(pixels), sum(characters), sum(milliseconds)]::float8[] end as media
      from rolled_call group by 1, 2, 3),
    tried as materialized (
      select starts_at, model, a ->> 'provider' as provider, a ->> 'offer' as offer, a ->> 'errorClass' as error_class
      from rolled_call, jsonb_array_elements(attempts) a where a ->> 'offer' is not null),
    tries as (
      select starts_at, model, provider, count(*) filter (where error_class is null) as good,
        count(*) filter (where ${isFault(sql`error_class`)}) as bad
      from tried group by 1, 2, 3),
    down as (${downtimeOf(starts)}),
    offers as (
      select starts_at, model, provider, count(*) as offers
      from (select starts_at, model, provider, offer from tried
        union select starts_at, model, provider, offer from down) seen group by 1, 2, 3),
    downs as (select starts_at, model, provider, sum(down_ms) as down_ms from down group by 1, 2, 3),
    places as (
      select starts_at, model, provider from totals union select starts_at, model, provider from tries
      union select starts_at, model, provider from downs)
    select starts_at as "startsAt", model, provider, coalesce(calls, 0)::float8 as calls,
      coalesce(answered, 0)::float8 as answered, coalesce(unanswered, 0)::float8 as unanswered,
      coalesce(trades, 0)::float8 as trades, coalesce(volume_micro, 0)::bigint as "volumeMicro",
      coalesce(list_micro, 0)::bigint as "listMicro", min_kept_bps as "minKeptBps",
      coalesce(input_tokens, 0)::float8 as "inputTokens", coalesce(cache_read_tokens, 0)::float8 as "cacheReadTokens",
      coalesce(output_tokens, 0)::float8 as "outputTokens", coalesce(good, 0)::float8 as "attemptsGood",
      coalesce(bad, 0)::float8 as "attemptsBad", coalesce(down_ms, 0)::float8 as "downMs",
      coalesce(offers, 0)::int as offers, coalesce(ttft.samples, 0)::float8 as "ttftSamples",
      coalesce(ttft.sketch, '') as "ttftSketch", coalesce(tps.samples, 0)::float8 as "tpsSamples",
      coalesce(tps.sketch, '') as "tpsSketch", media
    from places left join totals using (starts_at, model, provider) left join tries using (starts_at, model, provider)
    left join offers using (starts_at, model, provider) left join downs using (starts_at, model, provider)
    left join (${sketchesOf('ttft')}) ttft using (starts_at, model, provider)
    left join (${sketchesOf('tps')}) tps using (starts_at, model, provider)
    order by 1, 2, 3`,
  )
  return rows
}

async function insertOfferHours(trx: Trx): Promise<void> {
  await sql`insert into market_offer_hour (starts_at, offer, model, trades, volume_micro, calls, net_micro, failed,
      ttft_samples, ttft_sketch)
    select starts_at, offer, min(model), sum(trades), sum(volume_micro), sum(calls), sum(net_micro), sum(failed),
      coalesce(sum(n) filter (where ttft is not null), 0),
      coalesce(string_agg(int2send(ttft) || int4send(n), ''::bytea order by ttft), '')
    from (select starts_at, offer, ttft, min(model) as model, count(*)::int as n,
        count(*) filter (where charge > 0) as trades, sum(charge) as volume_micro,
        count(*) filter (where charge > 0 or outcome = 'succeeded') as calls, sum(seller_net) as net_micro,
        0 as failed
      from rolled_call where offer is not null group by 1, 2, 3
      union all
      select starts_at, a ->> 'offer', null, min(model), 0, 0, 0, 0, 0, count(*)
      from rolled_call, jsonb_array_elements(attempts) a
      where a ->> 'offer' is not null and ${isFault(sql`a ->> 'errorClass'`)} group by 1, 2) counted
    group by 1, 2`.execute(trx)
}

/** A sketch for each hour, model and provider: the sample buckets with their counts. */
function sketchesOf(value: 'ttft' | 'tps') {
  const bucket = sql.ref(value)
  return sql`select starts_at, model, provider, sum(n) as samples,
      string_agg(int2send(bucket) || int4send(n), ''::bytea order by bucket) as sketch
    from (select starts_at, model, provider, ${bucket} as bucket, count(*)::int as n from rolled_call
      where ${bucket} is not null and provider <> '' group by 1, 2, 3, 4) counted
    group by 1, 2, 3`
}

/** The time that each offer was backed off within each hour. Overlapping back-offs of several processes count once. */
function downtimeOf(starts: readonly Date[]) {
  return sql`select starts_at, model, provider, offer,
      round(sum(extract(epoch from upper(spell) - lower(spell))) * 1000)::bigint as down_ms
    from (
      select h.starts_at, l.model, o.provider, l.offer, range_agg(tstzrange(greatest(l.at, h.starts_at),
        least(l.ends_at, h.starts_at + interval '1 hour'))) as spells
      from unnest(${starts}::timestamptz[]) as h (starts_at)
      join (
        select b.at, b.model, b.offer, least(b.backed_off_until, (select min(r.at) from health_log r
          where r.offer = b.offer and r.at > b.at and r.action = 'recovered')) as ends_at
        from health_log b where b.action = 'backed_off' and b.at > (select min(starts) - interval '1 day'
          from unnest(${starts}::timestamptz[]) starts) and b.at < (select max(starts) + interval '1 hour'
          from unnest(${starts}::timestamptz[]) starts)
      ) l on l.at < h.starts_at + interval '1 hour' and l.ends_at > h.starts_at and l.ends_at > l.at
      join offer o on o.id = l.offer
      group by 1, 2, 3, 4) down, unnest(spells) as spell
    group by 1, 2, 3, 4`
}

/**
 * Removes hours of single offers from before an instant (Unix milliseconds). The order book needs only the last day.
 */
export async function deleteOfferHours(db: Database, before: number): Promise<void> {
  await sql`delete from market_offer_hour where starts_at < ${toDate(before)}`.execute(db)
}

function toDate(at: number): Date {
  return new Date(at)
}
