import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'

/** An offer is backed off for at most this long at once, so an event cannot change spells that began earlier. */
export const LONGEST_SPELL = sql.lit('1 day')
/** Spells with a shorter gap than this belong to one incident, or to one outage of an offer. */
export const QUIET = sql.lit('5 minutes')
/** The actions of the health log that take an offer out of rotation, or put it back. */
export const CHANGES = sql`('backed_off', 'recovered', 'reset', 'credential_rotated', 'delisted')`
/** The instant at which the offer of a line `l` of the log was put back; null while it has not been. */
export const UP_AT = sql`min(l.at) filter (where l.action <> 'backed_off') over (partition by l.offer
  order by l.at desc, l.id rows between unbounded preceding and 1 preceding)`

/**
 * Members of a `with` list after `change`, which has the changes of health with {@link UP_AT} as `up_at`. The last
 * member, `numbered`, has the back-offs from `at` to `ends_at`: the offer is tried again then, or was put back before.
 * Back-offs of one `by` that follow each other closely have one `number`.
 */
export const numberedSpells = (by: RawBuilder<unknown>) => sql`
    spell as (
      select *, least(backed_off_until, at + ${LONGEST_SPELL}::interval, up_at) as ends_at
      from change where action = 'backed_off'),
    marked as (
      select *, case when at > max(ends_at) over (partition by ${by} order by at, offer
        rows between unbounded preceding and 1 preceding) + ${QUIET}::interval then 1 else 0 end as is_new
      from spell where ends_at > at),
    numbered as (select *, sum(is_new) over (partition by ${by} order by at, offer) as number from marked)`
