import { sql } from 'kysely'
import { ERROR_CLASSES } from '#shared/contract/health-event.ts'
import type { AccountId } from '#shared/ids.ts'
import { CHANGES, numberedSpells, UP_AT } from './back-off-spells.ts'
import type { Database } from './database.ts'
import type { RowOf } from './rows.ts'
import { readRows } from './rows.ts'
import { integer, nullable, oneOf } from './tables/column.ts'
import { OFFER_TABLES } from './tables/offers.ts'

/** Most lines of a health log that one answer is made of, the newest. */
const MAX_LINES = 20_000

const OUTAGE_ROW = {
  offer: OFFER_TABLES.health_log.offer,
  model: OFFER_TABLES.health_log.model,
  startedAt: OFFER_TABLES.health_log.at,
  /** The instant at which the offer came back or will be tried again. */
  endsAt: OFFER_TABLES.health_log.at,
  backOffs: integer(),
  /** The most frequent error class; null when none was reported. */
  cause: nullable(oneOf(ERROR_CLASSES)),
  /** The provider's answer before the last back-off. */
  statusCode: OFFER_TABLES.health_log.status_code,
  detail: OFFER_TABLES.health_log.detail,
  lastAt: OFFER_TABLES.health_log.at,
  /** The lines that were read, and the oldest of them. */
  lines: integer(),
  oldestAt: OFFER_TABLES.health_log.at,
}
export type OutageRow = RowOf<typeof OUTAGE_ROW>

export type OutagePeriod = {
  readonly seller: AccountId
  /** Unix milliseconds, both included. */
  readonly since: number
  readonly until: number
}

/**
 * Outages of a seller's offers that began in a period, newest first. An outage is the time in which an offer was backed
 * off, as in the incidents of the market: spells with little between them are one outage.
 */
export async function listOutages(
  db: Database,
  { seller, since, until }: OutagePeriod,
): Promise<{ readonly outages: readonly OutageRow[]; readonly cutAt: Date | undefined }> {
  const outages = await readRows(
    db,
    OUTAGE_ROW,
    sql`with line as (
        select * from health_log where seller_account = ${seller} and at >= ${new Date(since)} and at <= ${new Date(until)}
          and action in ${CHANGES} order by at desc, id desc limit ${MAX_LINES}),
      change as (
        select l.offer, l.model, l.error_class, l.status_code, l.detail, l.action, l.at, l.backed_off_until,
          ${UP_AT} as up_at
        from line l),
      ${numberedSpells(sql`offer`)},
      outage as (
        select offer, max(model) as model, min(at) as "startedAt", max(ends_at) as "endsAt",
          count(*)::integer as "backOffs", mode() within group (order by error_class) as cause,
          (array_agg(status_code order by at desc))[1] as "statusCode", (array_agg(detail order by at desc))[1] as detail,
          max(at) as "lastAt"
        from numbered group by offer, number)
    select outage.*, (select count(*) from line)::integer as lines, (select min(at) from line) as "oldestAt"
    from outage order by "startedAt" desc, offer`,
  )
  const [first] = outages
  return { outages, cutAt: first?.lines === MAX_LINES ? first.oldestAt : undefined }
}
