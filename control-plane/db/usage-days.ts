import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import { DAY, MINUTE, utcDay } from '#shared/clock.ts'
import type { AccountId } from '#shared/ids.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { Trx } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { boolean, text } from './tables/column.ts'

/** Summing a day of heavy traffic takes longer than the usual statement timeout allows. */
const SUM_TIMEOUT_MS = 2 * MINUTE
const SUM_LOCK = 7_305_100
/**
 * Time after its end at which a day counts as over. It exceeds the time from a transaction's start to its appearance in
 * the list of running ones.
 */
const OVER_AFTER_MS = MINUTE

/** A window of an account's calls in Unix milliseconds. `to` is excluded. */
type Window = { readonly account: AccountId; readonly from: number; readonly to: number }

/**
 * The CTEs that split a window into summed days and remaining calls. `summed` gives the days to read from their sums
 * (see {@link isSummed}), except those in `late`. `rest` gives ranges of request ids, from `low` (included) to `high`
 * (excluded), to read from settlements. Together they cover every call of the window once, as their statement sees the
 * tables.
 */
export function splitWindow({ account, from, to }: Window): RawBuilder<unknown> {
  const first = Math.ceil(from / DAY) * DAY
  const end = Math.floor(to / DAY) * DAY
  const [low, high] = [ulidFloor(from), ulidFloor(to)]
  // A window without a whole day has no summed days, so `rest` covers all of it.
  const [firstDay, endDay] = first < end ? [utcDay(first), utcDay(end)] : ['infinity', 'infinity']
  return sql`summed as materialized (
      select ${firstDay}::date as first, least(${endDay}::date, before) as before
      from usage_summed where before > ${firstDay}::date
    ), late as materialized (
      select distinct l.day from usage_late l join summed s on l.day >= s.first and l.day < s.before
      where l.account = ${account}
    ), rest as materialized (
      select ${low}::text collate "C" as low, ${high}::text collate "C" as high where not exists (select 1 from summed)
      union all select ${low}, day_floor(first) from summed
      union all select day_floor(before), ${high} from summed
      union all select day_floor(day), day_floor(day + 1) from late)`
}

/**
 * The condition that a row of sums, under its name in the statement, belongs to the account and to a summed day of the
 * window.
 */
export function isSummed(row: string, account: AccountId): RawBuilder<boolean> {
  const day = sql.ref(`${row}.day`)
  return sql`${sql.ref(`${row}.account`)} = ${account} and ${day} >= (select first from summed)
    and ${day} < (select before from summed) and ${day} not in (select day from late)`
}

/**
 * Ends a lateral query over one range of `rest`. Without it the planner, which cannot know how narrow the ranges are,
 * would read all calls of an account and compare each with the ranges.
 */
export const RANGE_BY_RANGE = sql.raw('offset 0')

/** Lets one turn of summing run at a time, with enough time. The lock and the setting end with the transaction. */
export async function lockUsageDays(trx: Trx): Promise<void> {
  await sql`select set_config('statement_timeout', ${SUM_TIMEOUT_MS.toString()}, true),
    pg_advisory_xact_lock(${sql.lit(SUM_LOCK)})`.execute(trx)
}

/** A UTC day as `2026-11-21`. `isNext` is true for the day after the last summed one. */
const DAY_TO_SUM_ROW = {
  day: text(),
  isNext: boolean(),
}
type DayToSum = RowOf<typeof DAY_TO_SUM_ROW>

/**
 * Finds the next day to sum. It is the day after the last summed one, once that day is over and no transaction that
 * began before its end can still book into it unnoticed. Otherwise it is the oldest day with late bookings.
 */
export async function findDayToSum(trx: Trx): Promise<DayToSum | undefined> {
  const rows = await readRows(
    trx,
    DAY_TO_SUM_ROW,
    sql`
    with next as (
      select coalesce(before, (select ulid_day(min(rid)) from settlement)) as day from usage_summed
    ), over as (
      select day from next
      where day < ((now() - make_interval(secs => ${OVER_AFTER_MS / 1_000})) at time zone 'UTC')::date and not exists (
        select 1 from pg_stat_activity a where a.datname = current_database() and a.pid <> pg_backend_pid()
          and a.xact_start < (next.day + 1)::timestamp at time zone 'UTC')
    ), late as (
      select min(l.day) as day from usage_late l, usage_summed s
      where l.day < s.before and day_floor(l.day) >= archive_floor()
    )
    select to_char(coalesce(o.day, l.day), 'YYYY-MM-DD') as day, o.day is not null as "isNext"
    from late l left join over o on true where coalesce(o.day, l.day) is not null`,
  )
  return rows[0]
}

/** Sums a day and replaces its stored sums. The next day then joins the summed days. */
export async function sumDay(trx: Trx, { day, isNext }: DayToSum): Promise<void> {
  await sql`select sum_usage_day(${day}::date)`.execute(trx)
  if (isNext) await sql`update usage_summed set before = ${day}::date + 1`.execute(trx)
}

/**
 * Compares the sums of one day with its settlements, a different day in each turn, and sums the day again if they
 * differ. Returns the day that differed. A day whose settlements are detached cannot be compared.
 */
export async function compareNextDay(trx: Trx): Promise<string | undefined> {
  const rows = await readRows(
    trx,
    { day: text() },
    sql`
    with attached as (select min(rid) as rid from settlement),
    round as (
      select case when compared_next >= ulid_day(rid) and compared_next < before then compared_next
        else ulid_day(rid) end as day, before
      from usage_summed, attached where ulid_day(rid) < before
    )
    update usage_summed u set compared_next = r.day + 1 from round r
    returning to_char(r.day, 'YYYY-MM-DD') as day`,
  )
  const day = rows[0]?.day
  if (day === undefined) return undefined
  const found = await readRows(trx, { isRight: boolean() }, sql`select is_usage_day_right(${day}::date) as "isRight"`)
  if (found[0]?.isRight !== false) return undefined
  await sumDay(trx, { day, isNext: false })
  return day
}
