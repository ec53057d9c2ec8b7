import { sql } from 'kysely'
import type { AccountId, OfferId } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, bytes, double, nullable, timestamp } from './tables/column.ts'
import type { OfferStatus } from './tables/offers.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** The sum of a column over hours, zero without one. Null while the column of an hour is not summed. */
export const knownSum = (column: 'calls' | 'net_micro' | 'failed') =>
  sql`case when count(*) = count(${sql.ref(column)}) then coalesce(sum(${sql.ref(column)}), 0) end`

/** An offer of a seller with the sums of its hours. Amounts are micro-USD. */
const OFFER_SUMS_ROW = {
  id: OFFER_TABLES.offer.id,
  model: OFFER_TABLES.offer.model,
  provider: OFFER_TABLES.offer.provider,
  label: OFFER_TABLES.offer.label,
  status: OFFER_TABLES.offer.status,
  /** Calls that were paid, or served for nothing. Null while an hour is not summed in this form. */
  calls: nullable(double()),
  gross: bigint(),
  net: nullable(bigint()),
  ttftSamples: double(),
}
export type OfferSums = RowOf<typeof OFFER_SUMS_ROW>

export type OfferSumsFilter = {
  readonly status: OfferStatus | undefined
  readonly model: string | undefined
  /** The first hour, in Unix milliseconds. */
  readonly from: number
  readonly limit: number
}

/** The newest offers of a seller with their sums since an hour. An offer without a call has sums of zero. */
export function listOfferSums(
  db: Database | Trx,
  seller: AccountId,
  { status, model, from, limit }: OfferSumsFilter,
): Promise<OfferSums[]> {
  const conditions = [
    sql`o.seller_account = ${seller}`,
    ...(status === undefined ? [] : [sql`o.status = ${status}`]),
    ...(model === undefined ? [] : [sql`o.model = ${model}`]),
  ]
  return readRows(
    db,
    OFFER_SUMS_ROW,
    sql`select o.id, o.model, o.provider, o.label, o.status, h.calls::float8 as calls, h.gross, h.net::bigint as net,
      h."ttftSamples"
    from (select * from offer o where ${sql.join(conditions, sql` and `)} order by o.id desc limit ${limit}) o
    cross join lateral (
      select ${knownSum('calls')} as calls, coalesce(sum(volume_micro), 0)::bigint as gross,
        ${knownSum('net_micro')} as net,
        coalesce(sum(ttft_samples), 0)::float8 as "ttftSamples"
      from market_offer_hour where offer = o.id and starts_at >= ${new Date(from)}) h
    order by o.id desc`,
  )
}

/** The stored sketches of the time to the first token since an hour, for some offers, in the order of their ids. */
export function listOfferSketches(
  db: Database | Trx,
  offers: readonly OfferId[],
  from: number,
): Promise<{ readonly offer: string; readonly sketch: Buffer }[]> {
  return readRows(
    db,
    { offer: OFFER_TABLES.offer.id, sketch: bytes() },
    sql`select offer, string_agg(ttft_sketch, ''::bytea) as sketch from market_offer_hour
    where offer = any(${[...offers]}::text[]) and starts_at >= ${new Date(from)} and ttft_samples > 0
    group by offer order by offer`,
  )
}

/** The sums of an offer in one hour or one UTC day. Amounts are micro-USD. */
const OFFER_BUCKET_ROW = {
  /** Unix milliseconds. */
  startMs: double(),
  /** Null while an hour is not summed in this form, as with {@link OFFER_SUMS_ROW}. */
  calls: nullable(double()),
  gross: bigint(),
  net: nullable(bigint()),
  ttftSamples: double(),
  ttftSketch: bytes(),
}
export type OfferBucket = RowOf<typeof OFFER_BUCKET_ROW>

/** The sums of an offer by hour or UTC day since an instant (Unix milliseconds). A bucket without a call has no row. */
export function listOfferBuckets(
  db: Database | Trx,
  offer: OfferId,
  { grain, from }: { readonly grain: 'hour' | 'day'; readonly from: number },
): Promise<OfferBucket[]> {
  return readRows(
    db,
    OFFER_BUCKET_ROW,
    sql`select (extract(epoch from date_trunc(${grain}, starts_at, 'UTC')) * 1000)::float8 as "startMs",
      (${knownSum('calls')})::float8 as calls, sum(volume_micro)::bigint as gross,
      (${knownSum('net_micro')})::bigint as net,
      sum(ttft_samples)::float8 as "ttftSamples", string_agg(ttft_sketch, ''::bytea) as "ttftSketch"
    from market_offer_hour where offer = ${offer} and starts_at >= ${new Date(from)}
    group by 1 order by 1`,
  )
}

/** The first hour from which the hours of offers are kept, where the market is older than that hour. */
export async function findFirstOfferHour(db: Database | Trx): Promise<Date | undefined> {
  const rows = await readRows(
    db,
    { startsAt: nullable(timestamp()) },
    sql`select starts_at as "startsAt" from (select min(starts_at) as starts_at from market_offer_hour) kept
    where exists (select from market_hour h where h.starts_at < kept.starts_at)`,
  )
  return rows[0]?.startsAt ?? undefined
}
