import { z } from 'zod'
import type { IdPrefix } from '#shared/ids.ts'
import { wholeNumber } from '#shared/texts.ts'
import { idToken } from './fields.ts'

/** Most items of a list when the caller sets no page size. */
const MAX_LISTED = 500

/** The paging inputs of a list whose items have ids of one kind, newest first. */
export const listFields = (prefix: IdPrefix) => ({
  maxItems: wholeNumber(1, MAX_LISTED).prefault(MAX_LISTED),
  nextToken: idToken(prefix).optional(),
})

/** Some items of a list, and the id after which the next page begins; null on the last page. */
export type Page<Item> = { readonly items: readonly Item[]; readonly nextToken: string | null }

/** The token of the next page, null on the last. */
export const NextToken = z
  .string()
  .nullable()
  .describe('Give it back as next_token for the next page; null on the last.')

export function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item).readonly(), nextToken: NextToken })
}

/** Makes a page of `size` items. The caller has read one row more, which shows whether another page follows. */
export function pageOf<Row, Item extends { readonly id: string }>(
  rows: readonly Row[],
  size: number,
  view: (row: Row) => Item,
): Page<Item> {
  const { items, nextToken } = signedPageOf(rows, size, view, ({ id }) => id)
  return { items, nextToken }
}

/**
 * A page of a list with signed tokens. `cursorOf` makes the token of the page after an item, and no answer body carries
 * it.
 */
export type SignedPage<Item> = Page<Item> & { readonly cursorOf: (item: Item) => string }

export function signedPageSchema<Item extends z.ZodType>(item: Item) {
  return pageSchema(item).extend({ cursorOf: cursorOf<z.output<Item>>() })
}

/** The schema of the function that makes the token of the page after an item. No answer body carries it. */
export function cursorOf<Item>() {
  return z.custom<(item: Item) => string>((value) => typeof value === 'function').meta({ isInside: true })
}

/** Like {@link pageOf}, but `tokenAfter` makes the token of the page after an item. */
export function signedPageOf<Row, Item>(
  rows: readonly Row[],
  size: number,
  view: (row: Row) => Item,
  tokenAfter: (item: Item) => string,
): SignedPage<Item> {
  const items = rows.slice(0, size).map(view)
  const last = rows.length > size ? items.at(-1) : undefined
  return { items, nextToken: last === undefined ? null : tokenAfter(last), cursorOf: tokenAfter }
}
