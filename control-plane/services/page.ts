import { z } from 'zod'
import type { IdPrefix } from '#shared/ids.ts'
import { idToken } from './fields.ts'

/** Most items of a list that is answered as a whole where nobody asks for a page. */
const MAX_LISTED = 500

/** What such a list takes: its items have ids of one kind, the newest first. */
export const listFields = (prefix: IdPrefix) => ({
  maxItems: z.coerce.number().int().min(1).max(MAX_LISTED).default(MAX_LISTED),
  nextToken: idToken(prefix).optional(),
})

/** Some items of a list, and the id after which the next page begins; null where this is the last. */
export type Page<Item> = { readonly items: readonly Item[]; readonly nextToken: string | null }

/** A page of `size` items out of rows of which one more was asked for, to see whether another page follows. */
export function pageOf<Row, Item extends { readonly id: string }>(
  rows: readonly Row[],
  size: number,
  view: (row: Row) => Item,
): Page<Item> {
  const items = rows.slice(0, size).map(view)
  return { items, nextToken: rows.length > size ? (items.at(-1)?.id ?? null) : null }
}
