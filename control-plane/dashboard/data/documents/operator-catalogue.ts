/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type OperatorCatalogueQueryVariables = Exact<{
  search?: string | null | undefined;
  model: string;
  hasModel: boolean;
  after?: string | null | undefined;
}>;


export type OperatorCatalogueQuery = { readonly markets?: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly name: string, readonly lab: string, readonly offerCount: number } }> } | null, readonly providers: ReadonlyArray<{ readonly id: string, readonly name: string, readonly baseUrl: string, readonly costReferenceUrl: string | null, readonly trusted: boolean, readonly activeOffers: number }> | null, readonly aliases?: ReadonlyArray<{ readonly alias: string, readonly isManual: boolean }> | null, readonly referencePrices?: ReadonlyArray<{ readonly version: string, readonly effectiveAt: number, readonly source: string, readonly state: string, readonly unitPrices: ReadonlyArray<{ readonly unit: string, readonly pico: string }> }> | null, readonly catalogHistory?: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly at: number, readonly effectiveAt: number, readonly field: string, readonly before: string, readonly after: string, readonly source: string, readonly actor: string } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const OperatorCatalogueDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorCatalogue($search: String, $model: String!, $hasModel: Boolean!, $after: String) {
  markets(first: 25, search: $search, sort: volume) @skip(if: $hasModel) {
    edges {
      node {
        id
        name
        lab
        offerCount
      }
    }
  }
  providers {
    id
    name
    baseUrl
    costReferenceUrl
    trusted
    activeOffers
  }
  aliases(model: $model) @include(if: $hasModel) {
    alias
    isManual
  }
  referencePrices(model: $model) @include(if: $hasModel) {
    version
    effectiveAt
    source
    state
    unitPrices {
      unit
      pico
    }
  }
  catalogHistory(first: 50, after: $after, model: $model) @include(if: $hasModel) {
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