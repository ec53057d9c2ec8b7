/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type PublicResourcesQueryVariables = Exact<{ [key: string]: never; }>;


export type PublicResourcesQuery = { readonly service: { readonly apiBaseUrl: string } | null, readonly resourceMarkets: ReadonlyArray<{ readonly id: string, readonly kind: string, readonly name: string, readonly unit: string, readonly style: string, readonly offers: number, readonly liveOffers: number, readonly bestDiscountPct: number | null, readonly medianDiscountPct: number | null, readonly calls24h: number, readonly volume24hMicro: number, readonly calls7d: number, readonly volume7dMicro: number, readonly saved7dMicro: number }> | null };


export const PublicResourcesDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicResources {
  service {
    apiBaseUrl
  }
  resourceMarkets {
    id
    kind
    name
    unit
    style
    offers
    liveOffers
    bestDiscountPct
    medianDiscountPct
    calls24h
    volume24hMicro
    calls7d
    volume7dMicro
    saved7dMicro
  }
}
    `) as unknown as TypedDocumentString<PublicResourcesQuery, PublicResourcesQueryVariables>;