import { AppError } from '#shared/errors.ts'

const MAX_PAGE = 100

type ConnectionArgs = {
  readonly first?: number | null | undefined
  readonly after?: string | null | undefined
  readonly last?: number | null | undefined
  readonly before?: string | null | undefined
}

/** The page that a connection's arguments ask for. Pages go forward only, and say how long they may be. */
export function readPage({ first, after, last, before }: ConnectionArgs): { maxItems: number; nextToken?: string } {
  if (last != null || before != null) {
    throw new AppError('invalid_request', { message: 'This list goes forward only: use first and after.' })
  }
  if (first == null || first < 1 || first > MAX_PAGE) {
    throw new AppError('invalid_request', { message: `first is 1 to ${MAX_PAGE}.`, param: 'first' })
  }
  return { maxItems: first, ...(after == null ? {} : { nextToken: after }) }
}

/** What a page of a list may cost: its length stands in the query. */
export function costOfPage({ first }: ConnectionArgs): { field: number; multiplier: number } {
  return { field: 1, multiplier: Math.min(Math.max(first ?? MAX_PAGE, 1), MAX_PAGE * MAX_PAGE) }
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

/** The same of a list that makes the cursors of its items itself, each shown as `show` says. */
export function toEdges<Item, Node>(page: Required<Page<Item>>, args: ConnectionArgs, show: (item: Item) => Node) {
  const edges = page.items.map((item) => ({ cursor: page.cursorOf(item), node: show(item) }))
  return {
    edges,
    pageInfo: {
      hasNextPage: page.nextToken !== null,
      hasPreviousPage: args.after != null,
      startCursor: edges[0]?.cursor ?? null,
      endCursor: edges.at(-1)?.cursor ?? null,
    },
  }
}
