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

export type BuyerLogsQueryVariables = Exact<{
  filter?: UsageFilter | null | undefined;
  after?: string | null | undefined;
}>;


export type BuyerLogsQuery = { readonly usageBuckets: ReadonlyArray<{ readonly bucket: number, readonly requests: number, readonly failedRequests: number }> | null, readonly usage: { readonly edges: ReadonlyArray<{ readonly node: { readonly requestId: string, readonly createdAt: number, readonly model: string, readonly provider: string | null, readonly endpoint: string, readonly outcome: string, readonly settlementStatus: string, readonly buyerCostMicro: number, readonly listCostMicro: number, readonly inputTokens: number, readonly outputTokens: number, readonly cacheReadTokens: number, readonly reasoningTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly ttftMs: number | null, readonly durationMs: number } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const BuyerLogsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerLogs($filter: UsageFilter, $after: String) {
  usageBuckets(interval: "hour", filter: $filter) {
    bucket
    requests
    failedRequests
  }
  usage(first: 50, after: $after, filter: $filter) {
    edges {
      node {
        requestId
        createdAt
        model
        provider
        endpoint
        outcome
        settlementStatus
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
        ttftMs
        durationMs
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<BuyerLogsQuery, BuyerLogsQueryVariables>;