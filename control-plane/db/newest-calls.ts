import type { RawBuilder } from 'kysely'
import { sql } from 'kysely'
import { ulidFloor } from '#shared/ids.ts'

/** Calls admitted from `since` (Unix ms) on, at most `limit` of them, of all models and buyers. */
export type Newest = { readonly since: number; readonly limit: number }

/** Their settlements as a table to select from, `newest`. */
export function newestCalls({ since, limit }: Newest): RawBuilder<unknown> {
  return sql`(select * from settlement where rid >= ${ulidFloor(since)} order by rid desc limit ${limit}) newest`
}
