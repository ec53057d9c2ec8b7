/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type PublicFeedQueryVariables = Exact<{
  from?: number | null | undefined;
}>;


export type PublicFeedQuery = { readonly trades: ReadonlyArray<{ readonly model: string, readonly inputTokens: number, readonly outputTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly costMicro: string, readonly createdAt: number }> | null, readonly marketSeries: ReadonlyArray<{ readonly bucket: number, readonly model: string | null, readonly trades: number, readonly volumeMicro: string, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly listMicro: string, readonly discountPct: number | null, readonly bestDiscountPct: number | null }> | null };


export const PublicFeedDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicFeed($from: Float) {
  trades(limit: 100) {
    model
    inputTokens
    outputTokens
    images
    megapixels
    seconds
    characters
    costMicro
    createdAt
  }
  marketSeries(from: $from, bucket: day, groupBy: [model]) {
    bucket
    model
    trades
    volumeMicro
    images
    megapixels
    seconds
    characters
    listMicro
    discountPct
    bestDiscountPct
  }
}
    `) as unknown as TypedDocumentString<PublicFeedQuery, PublicFeedQueryVariables>;