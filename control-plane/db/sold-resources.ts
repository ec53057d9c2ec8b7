import { sql } from 'kysely'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { Database, Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { bigint, nullable, text } from './tables/column.ts'

/** Sums of calls that bought goods of a resource. `paid` are those with a charge. Amounts are micro-USD. */
const SOLD_SUMS_ROW = {
  /** `resource/…` or `family/…`. */
  name: text(),
  good: nullable(text()),
  offer: nullable(text()),
  calls: bigint(),
  paid: bigint(),
  charge: bigint(),
  listCost: bigint(),
  sellerNet: bigint(),
}
export type SoldSums = RowOf<typeof SOLD_SUMS_ROW>

/** The account whose calls are summed. */
export type SoldBy = { readonly seller: AccountId } | { readonly buyer: AccountId }

const SUMS = sql`count(*) as calls, count(*) filter (where charge > 0) as paid, sum(charge)::bigint as charge,
  sum(list_cost)::bigint as "listCost", sum(seller_net)::bigint as "sellerNet"`

/** The sums of an account since an instant in Unix milliseconds, by resource, good and offer, the largest first. */
export async function sumSold(db: Database, by: SoldBy, since: number, limit: number): Promise<SoldSums[]> {
  const rows = await readRows(
    db,
    SOLD_SUMS_ROW,
    sql`select model as name, sold ->> 'good' as good, offer, ${SUMS}
    from settlement where ${ownerOf(by)} and rid >= ${ulidFloor(since)} and sold is not null
    group by 1, 2, 3 order by 6 desc, 1, 2, 3 limit ${limit}`,
  )
  return rows
}

/** The same sums by UTC day, oldest first. */
export async function sumSoldByDay(db: Database, by: SoldBy, since: number) {
  const rows = await readRows(
    db,
    { day: text(), calls: bigint(), paid: bigint(), charge: bigint(), listCost: bigint(), sellerNet: bigint() },
    sql`select to_char(started_at at time zone 'UTC', 'YYYY-MM-DD') as day, ${SUMS}
    from settlement where ${ownerOf(by)} and rid >= ${ulidFloor(since)} and sold is not null
    group by 1 order by 1`,
  )
  return rows
}

function ownerOf(by: SoldBy) {
  return 'seller' in by ? sql`seller_account = ${by.seller}` : sql`account = ${by.buyer}`
}

/** The sums of the whole market by resource, since an instant and since a later one. */
export async function sumSoldOfMarket(db: Database | Trx, since: number, dayAgo: number) {
  const rows = await readRows(
    db,
    {
      name: text(),
      calls: bigint(),
      charge: bigint(),
      listCost: bigint(),
      calls24h: bigint(),
      charge24h: bigint(),
      listCost24h: bigint(),
    },
    sql`select model as name, count(*) as calls, sum(charge)::bigint as charge, sum(list_cost)::bigint as "listCost",
      count(*) filter (where rid >= ${ulidFloor(dayAgo)}) as "calls24h",
      coalesce(sum(charge) filter (where rid >= ${ulidFloor(dayAgo)}), 0)::bigint as "charge24h",
      coalesce(sum(list_cost) filter (where rid >= ${ulidFloor(dayAgo)}), 0)::bigint as "listCost24h"
    from settlement where rid >= ${ulidFloor(since)} and sold is not null and charge > 0
    group by 1 order by 1`,
  )
  return rows
}
