/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type OperatorCatalogueQueryVariables = Exact<{
  model: string;
  after?: string | null | undefined;
}>;


export type OperatorCatalogueQuery = { readonly providers: ReadonlyArray<{ readonly id: string, readonly name: string, readonly baseUrl: string, readonly costReferenceUrl: string | null, readonly trusted: boolean, readonly activeOffers: number }> | null, readonly aliases: ReadonlyArray<{ readonly alias: string, readonly isManual: boolean }> | null, readonly referencePrices: ReadonlyArray<{ readonly version: string, readonly effectiveAt: number, readonly source: string, readonly state: string, readonly unitPrices: ReadonlyArray<{ readonly unit: string, readonly pico: string }> }> | null, readonly catalogHistory: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly at: number, readonly effectiveAt: number, readonly field: string, readonly before: string, readonly after: string, readonly source: string, readonly actor: string } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const OperatorCatalogueDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorCatalogue($model: String!, $after: String) {
  providers {
    id
    name
    baseUrl
    costReferenceUrl
    trusted
    activeOffers
  }
  aliases(model: $model) {
    alias
    isManual
  }
  referencePrices(model: $model) {
    version
    effectiveAt
    source
    state
    unitPrices {
      unit
      pico
    }
  }
  catalogHistory(first: 50, after: $after, model: $model) {
    edges {
      node {
        id
        at
        effectiveAt
        field
        before
        after
        source
        actor
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<OperatorCatalogueQuery, OperatorCatalogueQueryVariables>;