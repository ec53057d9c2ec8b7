import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import { ulidFloor } from '#shared/ids.ts'

/**
 * Most calls that a figure of the last day reads, of all buyers and models. On a busy market this is part of the day.
 */
export const NEWEST_CALLS = 20_000
/** Most calls that a figure of operators over many days reads. About half a second of the database. */
export const NEWEST_CALLS_OF_PERIOD = 200_000

/** The provider that served a call. Of a failed call, the provider of its last attempt; null when none was tried. */
export const PROVIDER_OF_CALL = sql`coalesce(provider, attempts -> -1 ->> 'provider')`

/**
 * Calls of all models and buyers that were admitted from `since` on and before `until`, at most `limit`. Both are Unix
 * milliseconds.
 */
export type Newest = { readonly since: number; readonly until?: number; readonly limit: number }

/** The settlements of these calls as a subquery named `newest`. */
export function newestCalls({ since, until, limit }: Newest): RawBuilder<unknown> {
  const end = until === undefined ? sql`` : sql`and rid < ${ulidFloor(until)}`
  return sql`(select * from settlement where rid >= ${ulidFloor(since)} ${end} order by rid desc limit ${limit}) newest`
}
