/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type BuyerOrganizationsQueryVariables = Exact<{ [key: string]: never; }>;


export type BuyerOrganizationsQuery = { readonly organizations: ReadonlyArray<{ readonly id: string, readonly name: string, readonly role: string, readonly createdAt: number }> | null, readonly ownInvitations: ReadonlyArray<{ readonly id: string, readonly organizationName: string, readonly role: string, readonly expiresAt: number }> | null };


export const BuyerOrganizationsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerOrganizations {
  organizations {
    id
    name
    role
    createdAt
  }
  ownInvitations {
    id
    organizationName
    role
    expiresAt
  }
}
    `) as unknown as TypedDocumentString<BuyerOrganizationsQuery, BuyerOrganizationsQueryVariables>;