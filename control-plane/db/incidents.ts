import { sql } from 'kysely'
import { CHANGES, LONGEST_SPELL, numberedSpells, QUIET, UP_AT } from './back-off-spells.ts'
import type { Database, Trx } from './database.ts'
import { OVERLAP_MS } from './market-rollup.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { boolean, text } from './tables/column.ts'
import { MARKET_TABLES } from './tables/market.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** A time span in which offers of a model at a provider were out of rotation. */
const INCIDENT_ROW = {
  /** The beginning in Unix milliseconds and a hash of model and provider. It is unique and sorts by time. */
  id: text(),
  model: OFFER_TABLES.health_log.model,
  provider: MARKET_TABLES.market_incident.provider,
  startedAt: MARKET_TABLES.market_incident.started_at,
  /** The instant at which the last offer came back or will be tried again. */
  endsAt: MARKET_TABLES.market_incident.ends_at,
  /** The number of offers that were out of rotation, and the number of back-offs. */
  offers: MARKET_TABLES.market_incident.offers,
  backOffs: MARKET_TABLES.market_incident.back_offs,
  /** The most frequent error class of its offers; null when none was reported. */
  cause: MARKET_TABLES.market_incident.cause,
}
export type IncidentRow = RowOf<typeof INCIDENT_ROW>

export type IncidentFilter = {
  /** Unix milliseconds. Selects incidents that began before `to` and had not ended at `from`. */
  readonly from: number
  readonly to: number
  readonly model: string | undefined
  readonly provider: string | undefined
  /** The id of the last incident on the page before. */
  readonly after: string | undefined
}

/** Length of the instant at the start of an id, in digits. */
const INSTANT_DIGITS = 15

/** True once the health events were searched for incidents. Before that none is known. */
export async function wereIncidentsSought(db: Database): Promise<boolean> {
  const rows = await readRows(
    db,
    { isSought: boolean() },
    sql`select incidents_looked_at is not null as "isSought" from market_watermark`,
  )
  return rows[0]?.isSought === true
}

/** Stored incidents, newest first. */
export async function listIncidents(db: Database, filter: IncidentFilter, limit: number): Promise<IncidentRow[]> {
  const { from, to, model, provider, after } = filter
  // Ids sort by time, so the incidents before an instant have ids below its digits.
  const end = Math.floor(to).toString().padStart(INSTANT_DIGITS, '0')
  const conditions = [
    sql`id < ${after !== undefined && after < end ? after : end}`,
    sql`ends_at >= ${new Date(from)}`,
    ...(model === undefined ? [] : [sql`model = ${model}`]),
    ...(provider === undefined ? [] : [sql`provider = ${provider}`]),
  ]
  const rows = await readRows(
    db,
    INCIDENT_ROW,
    sql`select id, model, provider, started_at as "startedAt", ends_at as "endsAt",
      offers, back_offs as "backOffs", cause
    from market_incident where ${sql.join(conditions, sql` and `)} order by id desc limit ${limit}`,
  )
  return rows
}

/**
 * Computes the incidents of each model and provider with new health events again, however late the events arrived, and
 * moves the watermark. The computation starts at the first incident that the events can touch. A repeat changes
 * nothing.
 */
export async function rollUpIncidents(trx: Trx): Promise<void> {
  await sql`create temporary table incident_place on commit drop as
    with touched as (
      select o.model, o.provider, min(l.at) - ${LONGEST_SPELL}::interval as from_at
      from health_log l join offer o on o.id = l.offer
      where l.action in ${CHANGES} and l.stored_at > coalesce(
        (select incidents_looked_at - make_interval(secs => ${OVERLAP_MS / 1_000}) from market_watermark), '-infinity')
      group by o.model, o.provider)
    select model, provider, least(from_at, (select min(i.started_at) from market_incident i where i.model = touched.model
      and i.provider = touched.provider and i.ends_at >= from_at - ${QUIET}::interval)) as from_at
    from touched`.execute(trx)
  await sql`analyze incident_place`.execute(trx)
  await sql`delete from market_incident i using incident_place p
    where i.model = p.model and i.provider = p.provider and i.started_at >= p.from_at`.execute(trx)
  await sql`insert into market_incident (id, model, provider, started_at, ends_at, offers, back_offs, cause)
    with change as (
      select o.model, o.provider, l.offer, l.error_class, l.action, l.at, l.backed_off_until, ${UP_AT} as up_at
      from incident_place p join offer o on o.model = p.model and o.provider = p.provider
      join health_log l on l.offer = o.id and l.at >= p.from_at
      -- One bound for all places, so that an index on offer and time finds the lines of each offer.
      where l.action in ${CHANGES} and l.at >= (select min(from_at) from incident_place)),
    ${numberedSpells(sql`model, provider`)}
    select lpad(floor(extract(epoch from min(at)) * 1000)::text, ${sql.lit(INSTANT_DIGITS)}, '0') || '.'
      || md5(model || chr(10) || provider), model, provider, min(at), max(ends_at), count(distinct offer), count(*),
      mode() within group (order by error_class)
    from numbered group by model, provider, number`.execute(trx)
  await sql`drop table incident_place`.execute(trx)
  await sql`update market_watermark set incidents_looked_at = now()`.execute(trx)
}

/** Removes incidents that ended before an instant (Unix milliseconds). */
export async function deleteOldIncidents(db: Database, before: number): Promise<void> {
  await sql`delete from market_incident where ends_at < ${new Date(before)}`.execute(db)
}
