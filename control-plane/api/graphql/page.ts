import { refuseDocument } from './limits.ts'

const MAX_PAGE = 100
/** The cost of a list without pages. Most such lists are shorter. */
export const LIST_COST = { field: 1, multiplier: 50 }

export type ConnectionArgs = {
  readonly first?: number | null | undefined
  readonly after?: string | null | undefined
  readonly last?: number | null | undefined
  readonly before?: string | null | undefined
}

/** Reads the page that a connection's arguments ask for. Refuses the document as {@link costOfPage} does. */
export function readPage(args: ConnectionArgs): { maxItems: number; nextToken?: string } {
  return { maxItems: sizeOf(args), ...(args.after == null ? {} : { nextToken: args.after }) }
}

/**
 * The cost of a page of a list. Pages go forward only and must name their length. A document with any other page is
 * refused as a whole.
 */
export function costOfPage(args: ConnectionArgs): { field: number; multiplier: number } {
  return { field: 1, multiplier: sizeOf(args) }
}

function sizeOf({ first, last, before }: ConnectionArgs): number {
  if (last != null || before != null) throw refuseDocument('This list goes forward only: use first and after.')
  if (first == null || first < 1 || first > MAX_PAGE) throw refuseDocument(`first must be 1 to ${MAX_PAGE}.`)
  return first
}

export type ConnectionPage<Item> = {
  readonly items: readonly Item[]
  readonly nextToken: string | null
  readonly cursorOf: (item: Item) => string
  /** The number of items of all pages, where it was counted. */
  readonly total?: number | null
}

/** Shows a page as a connection; `show` makes the nodes. Cursors are signed, so only the selected ones are made. */
export function toEdges<Item, Node>(page: ConnectionPage<Item>, args: ConnectionArgs, show: (item: Item) => Node) {
  const edges = page.items.map((item) => ({
    get cursor() {
      return page.cursorOf(item)
    },
    node: show(item),
  }))
  return {
    edges,
    totalCount: page.total ?? null,
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
