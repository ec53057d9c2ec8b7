import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import { ulidFloor } from '#shared/ids.ts'

/**
 * Most calls that a figure of the last day reads, of all buyers and models. On a busy market this is part of the day.
 */
export const NEWEST_CALLS = 20_000

/** Calls of all models and buyers that were admitted from `since` (Unix milliseconds) on, at most `limit`. */
export type Newest = { readonly since: number; readonly limit: number }

/** The settlements of these calls as a subquery named `newest`. */
export function newestCalls({ since, limit }: Newest): RawBuilder<unknown> {
  return sql`(select * from settlement where rid >= ${ulidFloor(since)} order by rid desc limit ${limit}) newest`
}
