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

/** A page as a connection: the cursor of an item is its id. */
export function toConnection<Item extends { readonly id: string }>(
  page: { readonly items: readonly Item[]; readonly nextToken: string | null },
  args: ConnectionArgs,
) {
  return {
    edges: page.items.map((node) => ({ cursor: node.id, node })),
    pageInfo: {
      hasNextPage: page.nextToken !== null,
      hasPreviousPage: args.after != null,
      startCursor: page.items[0]?.id ?? null,
      endCursor: page.items.at(-1)?.id ?? null,
    },
  }
}
