/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type PublicStatusQueryVariables = Exact<{
  from?: number | null | undefined;
}>;


export type PublicStatusQuery = { readonly rails: ReadonlyArray<{ readonly rail: string, readonly state: string }> | null, readonly models: ReadonlyArray<{ readonly bucket: number, readonly model: string | null, readonly calls: number, readonly uptimePct: number | null }> | null, readonly providers: ReadonlyArray<{ readonly bucket: number, readonly provider: string | null, readonly calls: number, readonly uptimePct: number | null }> | null, readonly incidents: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string, readonly startedAt: number, readonly endedAt: number | null, readonly offers: number, readonly offersOnSale: number, readonly cause: string | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly declaredIncidents: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly title: string, readonly models: ReadonlyArray<string>, readonly providers: ReadonlyArray<string>, readonly state: string, readonly startedAt: number, readonly endedAt: number | null, readonly notes: ReadonlyArray<{ readonly at: number, readonly state: string, readonly note: string }> } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const PublicStatusDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicStatus($from: Float) {
  rails {
    rail
    state
  }
  models: marketSeries(from: $from, groupBy: [model]) {
    bucket
    model
    calls
    uptimePct
  }
  providers: marketSeries(from: $from, groupBy: [provider]) {
    bucket
    provider
    calls
    uptimePct
  }
  incidents(first: 50, from: $from) {
    edges {
      node {
        id
        model
        provider
        startedAt
        endedAt
        offers
        offersOnSale
        cause
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  declaredIncidents(first: 10, from: $from) {
    edges {
      node {
        id
        title
        models
        providers
        state
        startedAt
        endedAt
        notes {
          at
          state
          note
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<PublicStatusQuery, PublicStatusQueryVariables>;