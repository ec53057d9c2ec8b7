/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type BuyerOrganizationQueryVariables = Exact<{
  organization: string;
}>;


export type BuyerOrganizationQuery = { readonly organization: { readonly id: string, readonly name: string, readonly role: string, readonly createdAt: number } | null, readonly members: ReadonlyArray<{ readonly id: string, readonly wallet: string, readonly role: string, readonly createdAt: number }> | null, readonly invitations: ReadonlyArray<{ readonly id: string, readonly wallet: string, readonly role: string, readonly createdAt: number, readonly expiresAt: number }> | null };


export const BuyerOrganizationDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerOrganization($organization: ID!) {
  organization(organization: $organization) {
    id
    name
    role
    createdAt
  }
  members(organization: $organization) {
    id
    wallet
    role
    createdAt
  }
  invitations(organization: $organization) {
    id
    wallet
    role
    createdAt
    expiresAt
  }
}
    `) as unknown as TypedDocumentString<BuyerOrganizationQuery, BuyerOrganizationQueryVariables>;