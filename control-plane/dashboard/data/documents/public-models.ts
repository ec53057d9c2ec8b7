/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
/** An order of models by the figures of the market: the best first, those without the figure last. */
export type MarketSort =
  | 'discount'
  | 'newest'
  | 'price'
  | 'requests'
  | 'sellers'
  | 'tps'
  | 'ttft'
  | 'uptime'
  | 'volume';

export type PublicModelsQueryVariables = Exact<{
  search?: string | null | undefined;
  modality?: string | null | undefined;
  feature?: string | null | undefined;
  minContext?: number | null | undefined;
  minDiscountPct?: number | null | undefined;
  minSellers?: number | null | undefined;
  minUptimePct?: number | null | undefined;
  sort?: MarketSort | null | undefined;
  after?: string | null | undefined;
}>;


export type PublicModelsQuery = { readonly markets: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly name: string, readonly lab: string, readonly contextLength: number, readonly inputModalities: ReadonlyArray<string>, readonly outputModalities: ReadonlyArray<string>, readonly features: ReadonlyArray<string>, readonly mediaUnit: string | null, readonly bestDiscountPct: number | null, readonly healthySellerCount: number, readonly uptimePct: number | null, readonly requests24h: number | null, readonly volume24hMicro: string | null, readonly ttftP50Ms: number | null, readonly tpsP50: number | null, readonly best: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null }, readonly direct: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null } } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const PublicModelsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicModels($search: String, $modality: String, $feature: String, $minContext: Int, $minDiscountPct: Float, $minSellers: Int, $minUptimePct: Float, $sort: MarketSort, $after: String) {
  markets(
    first: 50
    after: $after
    search: $search
    modality: $modality
    feature: $feature
    minContext: $minContext
    minDiscountPct: $minDiscountPct
    minSellers: $minSellers
    minUptimePct: $minUptimePct
    sort: $sort
  ) {
    edges {
      node {
        id
        name
        lab
        contextLength
        inputModalities
        outputModalities
        features
        mediaUnit
        bestDiscountPct
        healthySellerCount
        uptimePct
        requests24h
        volume24hMicro
        ttftP50Ms
        tpsP50
        best {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
        direct {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<PublicModelsQuery, PublicModelsQueryVariables>;