/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type BuyerKeysQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type BuyerKeysQuery = { readonly buyerKeys: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly label: string, readonly keyPrefix: string, readonly createdAt: number, readonly lastUsedAt: number | null, readonly expiresAt: number | null, readonly revokedAt: number | null, readonly terms: { readonly minDiscountPct: number | null, readonly providersBlocked: ReadonlyArray<string>, readonly allowUntrusted: boolean | null, readonly capDailyUsd: number | null, readonly capMonthlyUsd: number | null, readonly rateLimitRpm: number | null, readonly modelsAllowed: ReadonlyArray<string> | null } | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly usageBuckets: ReadonlyArray<{ readonly bucket: number, readonly group: string | null, readonly requests: number, readonly buyerCostMicro: number }> | null };


export const BuyerKeysDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerKeys($after: String) {
  buyerKeys(first: 50, after: $after) {
    edges {
      node {
        id
        label
        keyPrefix
        createdAt
        lastUsedAt
        expiresAt
        revokedAt
        terms {
          minDiscountPct
          providersBlocked
          allowUntrusted
          capDailyUsd
          capMonthlyUsd
          rateLimitRpm
          modelsAllowed
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  usageBuckets(interval: "day", groupBy: "key", filter: {period: "30d"}) {
    bucket
    group
    requests
    buyerCostMicro
  }
}
    `) as unknown as TypedDocumentString<BuyerKeysQuery, BuyerKeysQueryVariables>;