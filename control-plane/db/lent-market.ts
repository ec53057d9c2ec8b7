import { sql } from 'kysely'
import type { OfferId } from '#shared/ids.ts'
import type { Database } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, double, nullable, text } from './tables/column.ts'
import { RESOURCE_TABLES } from './tables/resources.ts'

const { lent_offer: LENT } = RESOURCE_TABLES

/** Offers on sale: published ones whose key was not destroyed. */
const ON_SALE = sql`status = 'active' and sealed is not null`

/** Numbers of a resource's offers, and the kept shares of those that are not backed off. */
const LENT_SUMS_ROW = {
  resource: text(),
  offers: bigint(),
  live: bigint(),
  /** Basis points; null when every offer is backed off. The median of two is their mean, which may be half a point. */
  bestKept: nullable(double()),
  medianKept: nullable(double()),
}

/** Sums the offers on sale by resource. `resting` names offers that are backed off. */
export async function sumLentOffers(db: Database, resting: readonly string[]): Promise<RowOf<typeof LENT_SUMS_ROW>[]> {
  return readRows(
    db,
    LENT_SUMS_ROW,
    sql`select resource, count(*) as offers, count(*) filter (where is_live) as live,
      min(kept_bps) filter (where is_live)::float8 as "bestKept",
      percentile_cont(0.5) within group (order by kept_bps) filter (where is_live) as "medianKept"
    from (
      select resource, kept_bps, id <> all(${[...resting]}::text[]) as is_live from lent_offer where ${ON_SALE}
    ) as offer
    group by resource order by resource`,
  )
}

/** Numbers of a resource's offers that claim a trait and are not backed off, by trait. */
export async function countLentTraits(
  db: Database,
  resource: string,
  resting: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const rows = await readRows(
    db,
    { trait: text(), count: bigint() },
    sql`select trait, count(*) as count
    from lent_offer, unnest(traits_probed || traits_declared) as trait
    where resource = ${resource} and ${ON_SALE} and id <> all(${[...resting]}::text[])
    group by trait order by trait`,
  )
  return new Map(rows.map(({ trait, count }) => [trait, Number(count)]))
}

/** The offers of a resource from which its refused demand is estimated, best discount first. */
export async function listLentIds(db: Database, resource: string, limit: number): Promise<OfferId[]> {
  const rows = await readRows(
    db,
    { id: LENT.id },
    sql`select id from lent_offer where resource = ${resource} and ${ON_SALE} order by kept_bps, id limit ${limit}`,
  )
  return rows.map(({ id }) => id)
}

/** A line of a book, without anything that identifies the lender. */
const LENT_LINE_ROW = {
  id: LENT.id,
  keptBps: LENT.kept_bps,
  capDailyMicro: LENT.cap_daily_micro,
  models: LENT.models,
  methods: LENT.methods,
  paths: LENT.paths,
  ratePerMinute: LENT.rate_per_minute,
  buyerSharePct: LENT.buyer_share_pct,
  traitsDeclared: LENT.traits_declared,
  traitsProbed: LENT.traits_probed,
}
export type StoredLentLine = RowOf<typeof LENT_LINE_ROW>

/** The place after which a page of a book begins. */
export type LentPlaceInBook = { readonly keptBps: number; readonly id: string }

/** The offers of a resource on sale, best discount first, after a place in the book. */
export async function listLentBook(
  db: Database,
  resource: string,
  after: LentPlaceInBook | undefined,
  limit: number,
): Promise<StoredLentLine[]> {
  return readRows(
    db,
    LENT_LINE_ROW,
    sql`select id, kept_bps as "keptBps", cap_daily_micro as "capDailyMicro", models, methods, paths,
      rate_per_minute as "ratePerMinute", buyer_share_pct as "buyerSharePct",
      traits_declared as "traitsDeclared", traits_probed as "traitsProbed"
    from lent_offer where resource = ${resource} and ${ON_SALE}
      ${after === undefined ? sql`` : sql`and (kept_bps, id) > (${after.keptBps}::int, ${after.id})`}
    order by kept_bps, id limit ${limit}`,
  )
}
