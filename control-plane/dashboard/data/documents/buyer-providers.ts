/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type BuyerProvidersQueryVariables = Exact<{ [key: string]: never; }>;


export type BuyerProvidersQuery = { readonly ownProviders: ReadonlyArray<{ readonly id: string, readonly model: string | null, readonly provider: string, readonly baseUrl: string, readonly apiFormat: string, readonly providerModel: string | null, readonly priority: number, readonly label: string | null, readonly createdAt: number }> | null, readonly preferences: { readonly allowUntrusted: boolean, readonly providersBlocked: ReadonlyArray<string>, readonly minDiscountPct: number | null } | null };


export const BuyerProvidersDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerProviders {
  ownProviders {
    id
    model
    provider
    baseUrl
    apiFormat
    providerModel
    priority
    label
    createdAt
  }
  preferences {
    allowUntrusted
    providersBlocked
    minDiscountPct
  }
}
    `) as unknown as TypedDocumentString<BuyerProvidersQuery, BuyerProvidersQueryVariables>;