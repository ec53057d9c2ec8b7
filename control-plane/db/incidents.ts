import { sql } from 'kysely'
import type { Database } from './database.ts'

/** A time during which offers of a model at a provider were out of the rotation. */
export type IncidentRow = {
  /** Its beginning in Unix milliseconds and a hash of its place: unique, and in the order of the list. */
  readonly id: string
  readonly model: string
  readonly provider: string
  readonly startedAt: Date
  /** When the last offer was back, or will be tried again. */
  readonly endsAt: Date
  /** Offers that were out at some time of it, and how often one of them was taken out. */
  readonly offers: number
  readonly backOffs: number
  /** The error that most of them had; null when nobody said. */
  readonly cause: string | null
  /** Offers of the model at the provider that are on sale now. */
  readonly offersOnSale: number
}

export type IncidentFilter = {
  /** Unix milliseconds; those that began before `to` and were not over at `from`. */
  readonly from: number
  readonly to: number
  readonly model: string | undefined
  readonly provider: string | undefined
  /** The last incident of the page before. */
  readonly after: string | undefined
}

/** No offer is backed off for longer at once, so that what ends a spell is found within it. */
const LONGEST_SPELL = sql.lit('1 day')
/** Spells with less time than this between them are one incident. */
const QUIET = sql.lit('5 minutes')

/** Incidents out of the health log, newest first. */
export async function listIncidents(db: Database, filter: IncidentFilter, limit: number): Promise<IncidentRow[]> {
  const { from, to, model, provider, after } = filter
  const [begin, end] = [sql`${new Date(from)}::timestamptz`, sql`${new Date(to)}::timestamptz`]
  const { rows } = await sql<IncidentRow>`with change as (
      select l.model, o.provider, l.offer, l.error_class, l.action, l.at, l.backed_off_until,
        min(l.at) filter (where l.action <> 'backed_off') over (partition by l.offer order by l.at desc, l.id
          rows between unbounded preceding and 1 preceding) as up_at
      from health_log l join offer o on o.id = l.offer
      where l.action in ('backed_off', 'recovered', 'reset', 'credential_rotated', 'delisted')
        and l.at > ${begin} - ${LONGEST_SPELL}::interval and l.at < ${end} + ${LONGEST_SPELL}::interval
        and (${model ?? null}::text is null or l.model = ${model ?? null})
        and (${provider ?? null}::text is null or o.provider = ${provider ?? null})),
    spell as (
      select model, provider, offer, error_class, at, least(backed_off_until, up_at) as ends_at
      from change where action = 'backed_off' and at < ${end}),
    marked as (
      select *, case when at > max(ends_at) over (partition by model, provider order by at, offer
        rows between unbounded preceding and 1 preceding) + ${QUIET}::interval then 1 else 0 end as is_new
      from spell where ends_at > at),
    numbered as (select *, sum(is_new) over (partition by model, provider order by at, offer) as number from marked),
    incident as (
      select model, provider, min(at) as started_at, max(ends_at) as ends_at, count(distinct offer)::int as offers,
        count(*)::int as back_offs, mode() within group (order by error_class) as cause
      from numbered group by model, provider, number having max(ends_at) >= ${begin}),
    named as (select *, lpad(floor(extract(epoch from started_at) * 1000)::text, 15, '0') || '.'
      || md5(model || chr(10) || provider) as id from incident)
    select id, model, provider, started_at as "startedAt", ends_at as "endsAt", offers, back_offs as "backOffs", cause,
      (select count(*)::int from offer o where o.model = named.model and o.provider = named.provider
        and o.status = 'active') as "offersOnSale"
    from named where ${after ?? null}::text is null or id < ${after ?? null}
    order by id collate "C" desc limit ${limit}`.execute(db)
  return rows
}
