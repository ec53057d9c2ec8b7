import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import { BILLED_TEXT } from './billed-text.ts'
import { mediaUnitOf } from './catalog.ts'
import type { Database } from './database.ts'
import { MEDIA_COLUMNS, MEDIA_FIELDS, MEDIA_ROW, MEDIA_SUMS, MEDIA_TEXT } from './media-units.ts'
import { PAYMENT_OF_ROW, paymentOf } from './payment-views.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { INPUT_TOKENS, OUTPUT_TOKENS, STARTED_AT_TEXT } from './settlements.ts'
import { CATALOG_TABLES } from './tables/catalog.ts'
import { bigint, nullable, text } from './tables/column.ts'
import { SETTLEMENT_TABLES } from './tables/settlements.ts'
import { isSummed, RANGE_BY_RANGE, splitWindow } from './usage-days.ts'

/** The condition for a sale: a paid call, or a call that succeeded at a price of zero. */
const SOLD = sql.raw(`(s.charge > 0 or s.outcome = 'succeeded')`)

/** The earnings of one model on one UTC day, in micro-USD. Input includes cached tokens, output includes reasoning. */
const DAY_OF_MODEL_ROW = {
  /** `2026-11-21`. */
  day: text(),
  model: CATALOG_TABLES.model_price.model,
  earned: bigint(),
  /** Payments of buyers. Null when a day of the sum was archived before payments of buyers were stored by day. */
  charged: nullable(bigint()),
  requests: bigint(),
  inputTokens: bigint(),
  outputTokens: bigint(),
  /** The request id of the last sale. */
  lastSale: text(),
  ...MEDIA_ROW,
}
export type DayOfModel = RowOf<typeof DAY_OF_MODEL_ROW>

/** A seller's earnings by day and model, from an instant (included) to another (excluded), in Unix milliseconds. */
export async function sumEarnings(
  db: Database,
  seller: AccountId,
  window: { readonly from: number; readonly to: number },
): Promise<DayOfModel[]> {
  const rows = await readRows(
    db,
    DAY_OF_MODEL_ROW,
    sql`with ${splitWindow({ account: seller, ...window })}, sales as (
      select started_on, model, requests, earned, charge, input_tokens, output_tokens, last_rid, ${MEDIA_COLUMNS} from seller_day d
      where ${isSummed('d', seller)}
      union all
      select c.* from rest r cross join lateral (
        select (s.started_at at time zone 'UTC')::date, s.model, 1, s.seller_net, s.charge, ${INPUT_TOKENS}, ${OUTPUT_TOKENS}, s.rid,
          ${MEDIA_COLUMNS}
        from settlement s where s.seller_account = ${seller} and s.rid >= r.low and s.rid < r.high and ${SOLD}
        ${RANGE_BY_RANGE}) c
    )
    select to_char(started_on, 'YYYY-MM-DD') as day, model, sum(earned)::bigint as earned,
      case when count(*) = count(charge) then sum(charge)::bigint end as charged,
      sum(requests)::bigint as requests, sum(input_tokens)::bigint as "inputTokens",
      sum(output_tokens)::bigint as "outputTokens", max(last_rid) as "lastSale", ${MEDIA_SUMS}
    from sales group by started_on, model order by started_on, model`,
  )
  return rows
}

/**
 * A sale. Amounts are micro-USD. `unitPrices` and `overrides` are JSON in the contract's form, null when no longer
 * known.
 */
const SALE_ROW = {
  rid: SETTLEMENT_TABLES.settlement.rid,
  model: CATALOG_TABLES.model_price.model,
  offer: SETTLEMENT_TABLES.settlement.offer,
  outcome: SETTLEMENT_TABLES.settlement.outcome,
  rail: SETTLEMENT_TABLES.settlement.rail,
  charge: SETTLEMENT_TABLES.settlement.charge,
  listCost: SETTLEMENT_TABLES.settlement.list_cost,
  ownCost: SETTLEMENT_TABLES.settlement.own_cost_pico,
  sellerNet: SETTLEMENT_TABLES.settlement.seller_net,
  keptBps: SETTLEMENT_TABLES.settlement.kept_bps,
  inputTokens: bigint(),
  outputTokens: bigint(),
  cacheReadTokens: SETTLEMENT_TABLES.settlement.cache_read_tokens,
  startedAt: SETTLEMENT_TABLES.settlement.started_at,
  postedAt: SETTLEMENT_TABLES.settlement.posted_at,
  unitPrices: nullable(CATALOG_TABLES.model_price.unit_prices),
  overrides: nullable(CATALOG_TABLES.model_price.overrides),
  priceConditions: SETTLEMENT_TABLES.settlement.price_conditions,
  mediaUnit: nullable(text()),
  ...MEDIA_ROW,
  ...PAYMENT_OF_ROW,
}
export type Sale = RowOf<typeof SALE_ROW>

const SALE = sql`s.rid, s.model, s.offer, s.outcome, s.rail, s.charge, s.list_cost as "listCost",
  s.own_cost_pico as "ownCost", s.seller_net as "sellerNet", s.kept_bps as "keptBps",
  ${INPUT_TOKENS} as "inputTokens", ${OUTPUT_TOKENS} as "outputTokens", s.cache_read_tokens as "cacheReadTokens",
  s.started_at as "startedAt", s.posted_at as "postedAt", p.unit_prices as "unitPrices", p.overrides,
  s.price_conditions as "priceConditions",
  ${mediaUnitOf(sql`s.model`)} as "mediaUnit", ${MEDIA_FIELDS}, ${paymentOf('s')}`

/** Sales of a seller, newest first, before the request id `before`. */
export async function listSales(
  db: Database,
  seller: AccountId,
  page: { readonly before: string | undefined; readonly limit: number },
): Promise<Sale[]> {
  const before: RawBuilder<unknown> = page.before === undefined ? sql`` : sql`and s.rid < ${page.before}`
  const rows = await readRows(
    db,
    SALE_ROW,
    sql`select ${SALE}
    from (select * from settlement s where s.seller_account = ${seller} ${before} and ${SOLD}
      order by s.rid desc limit ${page.limit}) s
    left join model_price p on p.version = s.price_version
    order by s.rid desc`,
  )
  return rows
}

/** A line of a usage file. The database joins all fields that need no quoting. */
const SOLD_ROW = {
  rid: SETTLEMENT_TABLES.settlement.rid,
  model: CATALOG_TABLES.model_price.model,
  offer: SETTLEMENT_TABLES.settlement.offer,
  provider: SETTLEMENT_TABLES.settlement.provider,
  /** `created_at` in ISO 8601. */
  createdAt: text(),
  /** Input, output, cached, reasoning tokens, earned and charged micro-USD, separated by commas. */
  figures: text(),
  /** Counts of media units, separated by commas. */
  media: text(),
  billed: text(),
  listCost: SETTLEMENT_TABLES.settlement.list_cost,
  ownCost: SETTLEMENT_TABLES.settlement.own_cost_pico,
  charge: SETTLEMENT_TABLES.settlement.charge,
  fee: SETTLEMENT_TABLES.settlement.fee,
  outcome: SETTLEMENT_TABLES.settlement.outcome,
  rail: SETTLEMENT_TABLES.settlement.rail,
  ...PAYMENT_OF_ROW,
}
export type SaleRow = RowOf<typeof SOLD_ROW>

export type SoldFilter = {
  readonly seller: AccountId
  /** Unix milliseconds of the admission, `to` excluded. */
  readonly from: number
  readonly to: number
}

/** Sales of a seller, oldest first, after the request id `after`. */
export async function listSoldAfter(
  db: Database,
  { seller, from, to }: SoldFilter,
  page: { readonly after: string; readonly limit: number },
): Promise<SaleRow[]> {
  const rows = await readRows(
    db,
    SOLD_ROW,
    sql`select s.rid, s.model, s.offer, s.provider, s.charge, s.fee, s.outcome, s.rail,
      ${STARTED_AT_TEXT} as "createdAt", ${paymentOf('s')},
      concat_ws(',', ${INPUT_TOKENS}, ${OUTPUT_TOKENS}, s.cache_read_tokens, s.reasoning_tokens, s.seller_net, s.charge) as figures,
      ${MEDIA_TEXT} as media, ${BILLED_TEXT} as billed,
      s.list_cost as "listCost", s.own_cost_pico as "ownCost"
    from settlement s
    where s.seller_account = ${seller} and s.rid > ${page.after} and s.rid >= ${ulidFloor(from)}
      and s.rid < ${ulidFloor(to)} and ${SOLD}
    order by s.rid limit ${page.limit}`,
  )
  return rows
}
