/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type PageViewerQueryVariables = Exact<{ [key: string]: never; }>;


export type PageViewerQuery = { readonly viewer: { readonly kind: string, readonly wallet: string | null, readonly keyId: string | null } | null };

export type PageChallengeQueryVariables = Exact<{
  address: string;
}>;


export type PageChallengeQuery = { readonly signInChallenge: { readonly message: string } | null };

export type PagePaletteQueryVariables = Exact<{
  search?: string | null | undefined;
}>;


export type PagePaletteQuery = { readonly markets: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly name: string } }> } | null };


export const PageViewerDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PageViewer {
  viewer {
    kind
    wallet
    keyId
  }
}
    `) as unknown as TypedDocumentString<PageViewerQuery, PageViewerQueryVariables>;
export const PageChallengeDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PageChallenge($address: String!) {
  signInChallenge(address: $address) {
    message
  }
}
    `) as unknown as TypedDocumentString<PageChallengeQuery, PageChallengeQueryVariables>;
export const PagePaletteDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PagePalette($search: String) {
  markets(first: 8, search: $search) {
    edges {
      node {
        id
        name
      }
    }
  }
}
    `) as unknown as TypedDocumentString<PagePaletteQuery, PagePaletteQueryVariables>;