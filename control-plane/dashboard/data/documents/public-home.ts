/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type PublicHomeQueryVariables = Exact<{ [key: string]: never; }>;


export type PublicHomeQuery = { readonly service: { readonly apiBaseUrl: string } | null, readonly marketTotals: { readonly since: number, readonly trades: number, readonly volumeMicro: string, readonly listMicro: string, readonly savedMicro: string } | null, readonly marketSeries: ReadonlyArray<{ readonly bucket: number, readonly calls: number, readonly trades: number, readonly volumeMicro: string, readonly listMicro: string, readonly discountPct: number | null }> | null, readonly markets: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly name: string, readonly lab: string, readonly bestDiscountPct: number | null, readonly requests24h: number | null, readonly volume24hMicro: string | null, readonly mediaUnit: string | null, readonly best: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null }, readonly direct: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null } } }> } | null, readonly trades: ReadonlyArray<{ readonly model: string, readonly costMicro: string, readonly inputTokens: number, readonly outputTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly createdAt: number }> | null };


export const PublicHomeDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicHome {
  service {
    apiBaseUrl
  }
  marketTotals {
    since
    trades
    volumeMicro
    listMicro
    savedMicro
  }
  marketSeries {
    bucket
    calls
    trades
    volumeMicro
    listMicro
    discountPct
  }
  markets(first: 8, sort: volume) {
    edges {
      node {
        id
        name
        lab
        bestDiscountPct
        requests24h
        volume24hMicro
        mediaUnit
        best {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
        direct {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
      }
    }
  }
  trades(limit: 8) {
    model
    costMicro
    inputTokens
    outputTokens
    images
    megapixels
    seconds
    characters
    createdAt
  }
}
    `) as unknown as TypedDocumentString<PublicHomeQuery, PublicHomeQueryVariables>;