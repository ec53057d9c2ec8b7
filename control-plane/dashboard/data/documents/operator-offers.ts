/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type OfferStatus =
  | 'active'
  | 'inactive'
  | 'paused';

export type OperatorOffersQueryVariables = Exact<{
  model?: string | null | undefined;
  provider?: string | null | undefined;
  isDelisted?: boolean | null | undefined;
  after?: string | null | undefined;
}>;


export type OperatorOffersQuery = { readonly anyOffers: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly sellerAccount: string, readonly wallet: string | null, readonly model: string, readonly provider: string, readonly trusted: boolean, readonly status: OfferStatus, readonly delistedReason: string | null, readonly discountPct: number, readonly capDailyMicro: string | null, readonly createdAt: number } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const OperatorOffersDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorOffers($model: String, $provider: String, $isDelisted: Boolean, $after: String) {
  anyOffers(
    first: 50
    after: $after
    model: $model
    provider: $provider
    isDelisted: $isDelisted
  ) {
    edges {
      node {
        id
        sellerAccount
        wallet
        model
        provider
        trusted
        status
        delistedReason
        discountPct
        capDailyMicro
        createdAt
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<OperatorOffersQuery, OperatorOffersQueryVariables>;