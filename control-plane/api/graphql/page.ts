import { refuseDocument } from './limits.ts'

const MAX_PAGE = 100

type ConnectionArgs = {
  readonly first?: number | null | undefined
  readonly after?: string | null | undefined
  readonly last?: number | null | undefined
  readonly before?: string | null | undefined
}

/** The page that a connection's arguments ask for. Refuses the document as {@link costOfPage} does. */
export function readPage(args: ConnectionArgs): { maxItems: number; nextToken?: string } {
  return { maxItems: sizeOf(args), ...(args.after == null ? {} : { nextToken: args.after }) }
}

/**
 * What a page of a list may cost: its length stands in the query. Pages go forward only, and say how long they may be: a
 * document with any other is refused as a whole.
 */
export function costOfPage(args: ConnectionArgs): { field: number; multiplier: number } {
  return { field: 1, multiplier: sizeOf(args) }
}

function sizeOf({ first, last, before }: ConnectionArgs): number {
  if (last != null || before != null) throw refuseDocument('This list goes forward only: use first and after.')
  if (first == null || first < 1 || first > MAX_PAGE) throw refuseDocument(`first is 1 to ${MAX_PAGE}.`)
  return first
}

type Page<Item> = {
  readonly items: readonly Item[]
  readonly nextToken: string | null
  /** For a list whose cursors are signed. */
  readonly cursorOf?: (item: Item) => string
}

/** A page as a connection: the cursor of an item is its id, unless the list says otherwise. */
export function toConnection<Item extends { readonly id: string }>(page: Page<Item>, args: ConnectionArgs) {
  return toEdges({ ...page, cursorOf: page.cursorOf ?? (({ id }) => id) }, args, (item) => item)
}

/**
 * The same of a list that makes the cursors of its items itself, each shown as `show` says. A cursor may be signed: only
 * those that are asked for are made.
 */
export function toEdges<Item, Node>(page: Required<Page<Item>>, args: ConnectionArgs, show: (item: Item) => Node) {
  const edges = page.items.map((item) => ({
    get cursor() {
      return page.cursorOf(item)
    },
    node: show(item),
  }))
  return {
    edges,
    pageInfo: {
      hasNextPage: page.nextToken !== null,
      hasPreviousPage: args.after != null,
      get startCursor() {
        return edges[0]?.cursor ?? null
      },
      get endCursor() {
        return edges.at(-1)?.cursor ?? null
      },
    },
  }
}
