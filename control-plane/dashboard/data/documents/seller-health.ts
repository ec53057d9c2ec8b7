/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type SellerHealthQueryVariables = Exact<{
  after?: string | null | undefined;
  since?: number | null | undefined;
  until?: number | null | undefined;
}>;


export type SellerHealthQuery = { readonly healthLog: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly timestamp: number, readonly offerId: string, readonly model: string, readonly errorCategory: string | null, readonly errorDetail: string, readonly statusCode: number | null, readonly actionTaken: string, readonly backedOffUntil: number | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const SellerHealthDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerHealth($after: String, $since: Float, $until: Float) {
  healthLog(first: 100, after: $after, since: $since, until: $until) {
    edges {
      node {
        id
        timestamp
        offerId
        model
        errorCategory
        errorDetail
        statusCode
        actionTaken
        backedOffUntil
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SellerHealthQuery, SellerHealthQueryVariables>;