import { z } from 'zod'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { oneLine, wholeNumber } from '#shared/texts.ts'
import type { CursorScope } from './cursor.ts'
import { readCursor, signCursor } from './cursor.ts'

/** Most items of a list when the caller sets no page size. */
const MAX_LISTED = 500

/** The token of the next page, as a caller gives it back. */
export const PageToken = oneLine(400)

/** The paging inputs of a list that normally fits one page. */
export const ListFields = {
  maxItems: wholeNumber(1, MAX_LISTED).prefault(MAX_LISTED),
  nextToken: PageToken.optional(),
}

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

/**
 * A list whose pages end with the id of their last item. Its tokens are signed for the list, its owner and its filters,
 * so no other list accepts them.
 */
export function pagesById(ctx: Pick<Ctx, 'settings'>, scope: CursorScope) {
  return {
    /** The id after which a page begins; undefined for the first. Throws `invalid_request` for a foreign token. */
    idIn(token: string | null | undefined): string | undefined {
      return token == null ? undefined : readCursor(ctx, scope, token)
    },
    pageOf<Row, Item extends { readonly id: string }>(
      rows: readonly Row[],
      size: number,
      view: (row: Row) => Item,
    ): Page<Item> & { readonly cursorOf: (item: { readonly id: string }) => string } {
      const tokenAfter = ({ id }: { readonly id: string }) => signCursor(ctx, scope, id)
      return { ...signedPageOf(rows, size, view, tokenAfter), cursorOf: tokenAfter }
    },
  }
}

/**
 * Makes a page of `size` items. The caller reads one more row, which shows whether another page follows. `tokenAfter`
 * makes the token of the page after an item.
 */
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
