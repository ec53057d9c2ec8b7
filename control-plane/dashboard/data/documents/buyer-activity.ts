/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type UsageFilter = {
  readonly endpoint?: string | null | undefined;
  readonly from?: number | null | undefined;
  readonly keyId?: string | null | undefined;
  readonly model?: string | null | undefined;
  readonly outcome?: string | null | undefined;
  readonly period?: string | null | undefined;
  readonly provider?: string | null | undefined;
  readonly servedBy?: string | null | undefined;
  readonly to?: number | null | undefined;
};

export type BuyerActivityQueryVariables = Exact<{
  interval?: string | null | undefined;
  groupBy?: string | null | undefined;
  filter?: UsageFilter | null | undefined;
  byHour?: boolean;
}>;


export type BuyerActivityQuery = { readonly usageBuckets: ReadonlyArray<{ readonly bucket: number, readonly group: string | null, readonly requests: number, readonly failedRequests: number, readonly buyerCostMicro: number, readonly listCostMicro: number, readonly inputTokens: number, readonly outputTokens: number, readonly cacheReadTokens: number, readonly reasoningTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly imageOutputTokens: number }> | null, readonly hours?: ReadonlyArray<{ readonly bucket: number, readonly group: string | null, readonly requests: number, readonly failedRequests: number, readonly buyerCostMicro: number, readonly listCostMicro: number, readonly inputTokens: number, readonly outputTokens: number, readonly cacheReadTokens: number }> | null, readonly keys: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly label: string } }> } | null };


export const BuyerActivityDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerActivity($interval: String, $groupBy: String, $filter: UsageFilter, $byHour: Boolean! = false) {
  usageBuckets(interval: $interval, groupBy: $groupBy, filter: $filter) {
    bucket
    group
    requests
    failedRequests
    buyerCostMicro
    listCostMicro
    inputTokens
    outputTokens
    cacheReadTokens
    reasoningTokens
    images
    megapixels
    seconds
    characters
    imageOutputTokens
  }
  hours: usageBuckets(interval: "hour", filter: $filter) @include(if: $byHour) {
    bucket
    group
    requests
    failedRequests
    buyerCostMicro
    listCostMicro
    inputTokens
    outputTokens
    cacheReadTokens
  }
  keys: buyerKeys(first: 100) {
    edges {
      node {
        id
        label
      }
    }
  }
}
    `) as unknown as TypedDocumentString<BuyerActivityQuery, BuyerActivityQueryVariables>;