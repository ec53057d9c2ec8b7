/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type SellerOnboardingQueryVariables = Exact<{
  search?: string | null | undefined;
}>;


export type SellerOnboardingQuery = { readonly viewer: { readonly kind: string, readonly wallet: string | null } | null, readonly savedConfigs: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly label: string | null, readonly baseUrl: string, readonly keyFingerprint: string, readonly hint: string } }> } | null, readonly markets: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly name: string, readonly bestDiscountPct: number | null, readonly healthySellerCount: number, readonly requests24h: number | null } }> } | null };


export const SellerOnboardingDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerOnboarding($search: String) {
  viewer {
    kind
    wallet
  }
  savedConfigs(first: 25) {
    edges {
      node {
        id
        label
        baseUrl
        keyFingerprint
        hint
      }
    }
  }
  markets(first: 100, sort: volume, search: $search) {
    edges {
      node {
        id
        name
        bestDiscountPct
        healthySellerCount
        requests24h
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SellerOnboardingQuery, SellerOnboardingQueryVariables>;