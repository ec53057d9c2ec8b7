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

export type SellerOffersQueryVariables = Exact<{
  status?: OfferStatus | null | undefined;
  model?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type SellerOffersQuery = { readonly offers: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string, readonly label: string | null, readonly status: OfferStatus, readonly stoppedBy: OfferStop | null, readonly healthy: boolean, readonly backedOffUntil: number | null, readonly delistedReason: string | null, readonly discount: number, readonly effectiveInputPer1m: number | null, readonly effectiveOutputPer1m: number | null, readonly mediaUnit: string | null, readonly effectiveMediaUnitPrice: number | null, readonly capDailyUsd: number | null, readonly capDailyRemainingUsd: number | null, readonly updatedAt: number } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const SellerOffersDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerOffers($status: OfferStatus, $model: String, $after: String) {
  offers(first: 50, after: $after, status: $status, model: $model) {
    edges {
      node {
        id
        model
        provider
        label
        status
        stoppedBy
        healthy
        backedOffUntil
        delistedReason
        discount
        effectiveInputPer1m
        effectiveOutputPer1m
        mediaUnit
        effectiveMediaUnitPrice
        capDailyUsd
        capDailyRemainingUsd
        updatedAt
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SellerOffersQuery, SellerOffersQueryVariables>;