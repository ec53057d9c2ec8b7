import { ask, askPatiently, MarketError } from '#control-plane/dashboard/data/client.ts'

type Question<Result, Variables> = Parameters<typeof ask<Result, Variables>>[0]

/** Most rows of a file that the page puts together. The market's own files have no such bound. */
const MAX_ROWS = 5_000

/** A list of which a table shows one page: a link to the market's file of it, or its rows. */
export type WholeList<Row> = { readonly link: () => Promise<string> } | ReadableList<Row>

type ReadableList<Row> = { readonly rows: () => Promise<WholeRows<Row>> }

type WholeRows<Row> = { readonly rows: readonly Row[]; readonly isCut: boolean }

type Connection<Row> = {
  readonly edges: readonly { readonly node: Row }[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor?: string | null | undefined }
}

/** The market's own file of a list, which is streamed from the database. */
export function fileOf<Result, Variables>(
  document: Question<Result, Variables>,
  variables: Variables,
  linkOf: (result: Result) => { readonly url: string } | null | undefined,
): { readonly link: () => Promise<string> } {
  return {
    async link() {
      const link = linkOf(await ask(document, variables))
      if (!link) throw new MarketError('service_unavailable', 'The export failed. Try again.')
      return link.url
    },
  }
}

/** Reads every page of a screen's list, from the first on. `isCut` says that the list has more rows than that. */
export function pagesOf<Result, Variables, Row>(
  document: Question<Result, Variables>,
  variables: Variables,
  listOf: (result: Result) => Connection<Row> | null | undefined,
): ReadableList<Row> {
  return {
    async rows() {
      const rows: Row[] = []
      let after: string | undefined
      do {
        const list = listOf(await askPatiently(document, { ...variables, after }))
        if (!list) throw new MarketError('service_unavailable', 'The list could not be read. Try again.')
        rows.push(...list.edges.map(({ node }) => node))
        after = list.pageInfo.hasNextPage ? (list.pageInfo.endCursor ?? undefined) : undefined
      } while (after !== undefined && rows.length < MAX_ROWS)
      return { rows, isCut: after !== undefined }
    },
  }
}
