/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type SellerKeysQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type SellerKeysQuery = { readonly sellerKeys: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly label: string, readonly keyPrefix: string, readonly createdAt: number, readonly lastUsedAt: number | null, readonly expiresAt: number | null, readonly revokedAt: number | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const SellerKeysDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerKeys($after: String) {
  sellerKeys(first: 50, after: $after) {
    edges {
      node {
        id
        label
        keyPrefix
        createdAt
        lastUsedAt
        expiresAt
        revokedAt
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<SellerKeysQuery, SellerKeysQueryVariables>;