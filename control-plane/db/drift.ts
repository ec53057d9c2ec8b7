import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import { DAY } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { Newest } from './newest-calls.ts'
import { newestCalls, PROVIDER_OF_CALL } from './newest-calls.ts'
import type { DayWindow } from './provider-bills.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'
import { bigint, integer, numeric, text } from './tables/column.ts'
import { OFFER_TABLES } from './tables/offers.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'

/** The days of a window, each with its range of request ids, as rows named `w`. */
function daysOf({ from, to }: DayWindow): RawBuilder<unknown> {
  const days: { day: string; low: string; high: string }[] = []
  for (let at = Date.parse(from); at < Date.parse(to); at += DAY) {
    const day = new Date(at).toISOString().slice(0, 10)
    days.push({ day, low: ulidFloor(at), high: ulidFloor(at + DAY) })
  }
  return sql`jsonb_to_recordset(${JSON.stringify(days)}::jsonb) w(day date, low text, high text)`
}

/**
 * Calls of a seller that one provider served on one day, of one version of a model's prices under the same conditions.
 */
const CALLS_ROW = {
  provider: text(),
  day: text(),
  /** The provider's own name of the model. */
  model: OFFER_TABLES.offer.provider_model,
  priceVersion: SETTLEMENT_TABLES.settlement.price_version,
  priceConditions: SETTLEMENT_TABLES.settlement.price_conditions,
  calls: integer(),
  /** Calls without any cost. */
  unpaid: integer(),
  /** Micro-USD. */
  list: numeric(),
  input: bigint(),
  cacheRead: bigint(),
  cacheWrite: bigint(),
  /** The part for caches of an hour or longer. */
  cacheWriteLong: bigint(),
  output: bigint(),
  reasoning: bigint(),
  audioInput: bigint(),
  audioOutput: bigint(),
  imageInput: bigint(),
  imageOutput: bigint(),
  searches: bigint(),
}
export type CallsRow = RowOf<typeof CALLS_ROW>

/** A seller's calls of the days for which it has a bill of the provider, without failed calls. */
export function sumBilledCalls(
  db: Database,
  seller: AccountId,
  window: DayWindow & { readonly provider: string | undefined },
): Promise<CallsRow[]> {
  const { from, to, provider } = window
  return readRows(
    db,
    CALLS_ROW,
    sql`with billed as (select distinct provider, day from provider_bill where seller_account = ${seller}
      and day >= ${from}::date and day < ${to}::date ${provider === undefined ? sql`` : sql`and provider = ${provider}`})
    select b.provider, to_char(b.day, 'YYYY-MM-DD') as day, c.* from billed b join ${daysOf(window)} on w.day = b.day
    cross join lateral (select o.provider_model as model, s.price_version as "priceVersion",
      s.price_conditions as "priceConditions", count(*)::int as calls,
      (count(*) filter (where s.list_cost = 0))::int as unpaid, sum(s.list_cost)::numeric as list,
      sum(s.input_tokens)::bigint as input, sum(s.cache_read_tokens)::bigint as "cacheRead",
      sum(s.cache_write_tokens)::bigint as "cacheWrite",
      sum(s.cache_write_long_tokens)::bigint as "cacheWriteLong", sum(s.output_tokens)::bigint as output,
      sum(s.reasoning_tokens)::bigint as reasoning, sum(s.audio_input_tokens)::bigint as "audioInput",
      sum(s.audio_output_tokens)::bigint as "audioOutput", sum(s.image_input_tokens)::bigint as "imageInput",
      sum(s.image_output_tokens)::bigint as "imageOutput", sum(s.searches)::bigint as searches
      from settlement s join offer o on o.id = s.offer
      where s.seller_account = ${seller} and s.rid >= w.low and s.rid < w.high and s.provider = b.provider
        and s.outcome <> 'failed'
      group by o.provider_model, s.price_version, s.price_conditions) c`,
  )
}

const FAILED_ROW = {
  provider: text(),
  day: text(),
  model: OFFER_TABLES.offer.provider_model,
  failed: integer(),
}
export type FailedRow = RowOf<typeof FAILED_ROW>

/** Calls that failed at a seller's offers, by the provider's own model name: their provider may have billed them. */
export function countFailedCalls(db: Database, seller: AccountId, { from, to }: DayWindow): Promise<FailedRow[]> {
  return readRows(
    db,
    FAILED_ROW,
    sql`select o.provider, to_char(h.at at time zone 'UTC', 'YYYY-MM-DD') as day, o.provider_model as model,
      count(distinct h.rid)::int as failed
    from health_log h join offer o on o.id = h.offer
    where h.seller_account = ${seller} and h.at >= ${from}::timestamptz and h.at < ${to}::timestamptz and h.rid is not null
    group by 1, 2, 3`,
  )
}

const PRICES_ROW = {
  version: CATALOG_TABLES.model_price.version,
  unitPrices: CATALOG_TABLES.model_price.unit_prices,
  overrides: CATALOG_TABLES.model_price.overrides,
}
export type PricesRow = RowOf<typeof PRICES_ROW>

/** The prices of some versions, in the contract's form. */
export function listPricesOfVersions(db: Database, versions: readonly string[]): Promise<PricesRow[]> {
  return readRows(
    db,
    PRICES_ROW,
    sql`select version, unit_prices as "unitPrices", overrides from model_price
    where version = any(${[...versions]}::text[])`,
  )
}

/** Calls whose answers state the provider's own cost. The list cost is in micro-USD, the provider's in pico-USD. */
const STATED_ROW = { provider: text(), calls: integer(), list: numeric(), statedPico: numeric() }
export type StatedRow = RowOf<typeof STATED_ROW>

const STATED = sql`count(*)::int as calls, sum(list_cost)::numeric as list, sum(own_cost_pico)::numeric as "statedPico"`

/** A seller's calls with a cost that their provider stated, by provider. */
export function sumStated(db: Database, seller: AccountId, { from, to }: DayWindow): Promise<StatedRow[]> {
  return readRows(
    db,
    STATED_ROW,
    sql`select provider, ${STATED} from settlement where seller_account = ${seller} and own_cost_pico is not null
      and rid >= ${ulidFloor(Date.parse(from))} and rid < ${ulidFloor(Date.parse(to))} and provider is not null
    group by provider order by provider`,
  )
}

/** The same sums for the newest calls of all sellers. A failed call names its provider only among its attempts. */
export function sumNewestStated(db: Database, newest: Newest): Promise<StatedRow[]> {
  return readRows(
    db,
    STATED_ROW,
    sql`select coalesce(${PROVIDER_OF_CALL}, '') as provider, ${STATED} from ${newestCalls(newest)}
    where own_cost_pico is not null group by 1 order by 1`,
  )
}

/**
 * The parts of a model's name that a bill may leave out, as patterns that Postgres and JavaScript read alike: the path
 * of a project in front with an API version behind, and the date at the end (`-2025-08-07`, `-20250929`, `@20250929`).
 */
export const NAME_EXTRAS = {
  address: '^(projects/[^/]+/locations/[^/]+/)?publishers/[^/]+/models/|[?]api-version=.*$',
  date: '[-@][0-9]{4}-?[0-9]{2}-?[0-9]{2}$',
} as const
const plainName = (name: RawBuilder<unknown>) =>
  sql`regexp_replace(regexp_replace(${name}, ${NAME_EXTRAS.address}, '', 'g'), ${NAME_EXTRAS.date}, '')`

/** The bills of a provider over all sellers, and the list cost of their calls on the same days. */
const BILLED_BY_PROVIDER_ROW = {
  provider: text(),
  sellers: integer(),
  calls: integer(),
  list: numeric(),
  billedPico: numeric(),
}
export type BilledByProviderRow = RowOf<typeof BILLED_BY_PROVIDER_ROW>

/**
 * Sums bills by provider. `isSoldOnly` leaves out bills of models that their seller does not sell, and of days without
 * calls: they are for other uses of the same key.
 */
export function sumBilledByProvider(
  db: Database,
  { isSoldOnly, ...window }: DayWindow & { readonly isSoldOnly: boolean },
): Promise<BilledByProviderRow[]> {
  const isSold = sql`exists (select 1 from offer o where o.seller_account = b.seller_account and o.provider = b.provider
    and ${plainName(sql`o.provider_model`)} = ${plainName(sql`b.model`)})`
  return readRows(
    db,
    BILLED_BY_PROVIDER_ROW,
    sql`with billed as (select provider, seller_account, day, sum(billed_pico) as pico from provider_bill b
      where day >= ${window.from}::date and day < ${window.to}::date ${isSoldOnly ? sql`and ${isSold}` : sql``}
      group by 1, 2, 3)
    select b.provider, count(distinct b.seller_account)::int as sellers, sum(c.calls)::int as calls,
      sum(c.list)::numeric as list, sum(b.pico)::numeric as "billedPico"
    from billed b join ${daysOf(window)} on w.day = b.day
    cross join lateral (select count(*) as calls, coalesce(sum(s.list_cost), 0) as list from settlement s
      where s.seller_account = b.seller_account and s.rid >= w.low and s.rid < w.high and s.provider = b.provider
        and s.outcome <> 'failed') c
    ${isSoldOnly ? sql`where c.calls > 0` : sql``}
    group by b.provider order by b.provider`,
  )
}
