/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type OfferStatus =
  | 'active'
  | 'inactive'
  | 'paused';

/** Why no call goes to an offer now. */
export type OfferStop =
  | 'backed_off'
  | 'cap_used'
  | 'delisted'
  | 'inactive'
  | 'paused';

export type PricingMode =
  | 'cost_multiplier'
  | 'discount';

export type SellerOfferQueryVariables = Exact<{
  id: string;
}>;


export type SellerOfferQuery = { readonly offer: { readonly id: string, readonly model: string, readonly provider: string, readonly providerModel: string, readonly status: OfferStatus, readonly stoppedBy: OfferStop | null, readonly healthy: boolean, readonly consecutiveFailures: number, readonly backedOffUntil: number | null, readonly delistedReason: string | null, readonly pricingMode: PricingMode, readonly discount: number, readonly directInputPer1m: number | null, readonly directOutputPer1m: number | null, readonly effectiveInputPer1m: number | null, readonly effectiveOutputPer1m: number | null, readonly mediaUnit: string | null, readonly directMediaUnitPrice: number | null, readonly effectiveMediaUnitPrice: number | null, readonly capDailyUsd: number | null, readonly capDailyRemainingUsd: number | null, readonly payoutAddress: string | null, readonly effectiveUnitPrices: ReadonlyArray<{ readonly unit: string, readonly usd: number }> } | null, readonly offerShare: { readonly won: number, readonly failedOver: number, readonly outranked: number, readonly excluded: ReadonlyArray<{ readonly reason: string, readonly calls: number }> } | null, readonly healthLog: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly timestamp: number, readonly errorCategory: string | null, readonly errorDetail: string, readonly statusCode: number | null, readonly actionTaken: string, readonly backedOffUntil: number | null } }> } | null };


export const SellerOfferDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerOffer($id: ID!) {
  offer(id: $id) {
    id
    model
    provider
    providerModel
    status
    stoppedBy
    healthy
    consecutiveFailures
    backedOffUntil
    delistedReason
    pricingMode
    discount
    directInputPer1m
    directOutputPer1m
    effectiveInputPer1m
    effectiveOutputPer1m
    mediaUnit
    directMediaUnitPrice
    effectiveMediaUnitPrice
    effectiveUnitPrices {
      unit
      usd
    }
    capDailyUsd
    capDailyRemainingUsd
    payoutAddress
  }
  offerShare(id: $id) {
    won
    failedOver
    outranked
    excluded {
      reason
      calls
    }
  }
  healthLog(first: 50, offerId: $id) {
    edges {
      node {
        id
        timestamp
        errorCategory
        errorDetail
        statusCode
        actionTaken
        backedOffUntil
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SellerOfferQuery, SellerOfferQueryVariables>;