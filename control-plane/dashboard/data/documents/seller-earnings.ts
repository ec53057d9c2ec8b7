/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type SellerEarningsQueryVariables = Exact<{
  range?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type SellerEarningsQuery = { readonly earnings: { readonly totalEarnedUsdc: string, readonly pendingUsdc: string, readonly inFlightUsdc: string, readonly paidUsdc: string, readonly daily: ReadonlyArray<{ readonly day: string, readonly earnedMicro: number, readonly requests: number, readonly totalTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number }>, readonly byModel: ReadonlyArray<{ readonly model: string, readonly earnedMicro: number, readonly requests: number, readonly totalTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly lastSaleAt: number }>, readonly payoutHold: { readonly reason: string, readonly since: number | null } | null } | null, readonly sales: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly offerId: string | null, readonly createdAt: number, readonly sellerCostUsdc: string, readonly inputTokens: number, readonly outputTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly mediaUnit: string | null, readonly effectiveMediaUnitPrice: number | null, readonly settlementStatus: string, readonly txHash: string | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const SellerEarningsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerEarnings($range: String, $after: String) {
  earnings(range: $range) {
    totalEarnedUsdc
    pendingUsdc
    inFlightUsdc
    paidUsdc
    daily {
      day
      earnedMicro
      requests
      totalTokens
      images
      megapixels
      seconds
      characters
    }
    byModel {
      model
      earnedMicro
      requests
      totalTokens
      images
      megapixels
      seconds
      characters
      lastSaleAt
    }
    payoutHold {
      reason
      since
    }
  }
  sales(first: 50, after: $after) {
    edges {
      node {
        id
        model
        offerId
        createdAt
        sellerCostUsdc
        inputTokens
        outputTokens
        images
        megapixels
        seconds
        characters
        mediaUnit
        effectiveMediaUnitPrice
        settlementStatus
        txHash
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SellerEarningsQuery, SellerEarningsQueryVariables>;