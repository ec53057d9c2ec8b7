/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type BuyerLogEntryQueryVariables = Exact<{
  id: string;
}>;


export type BuyerLogEntryQuery = { readonly request: { readonly requestId: string, readonly model: string, readonly provider: string | null, readonly settlementStatus: string, readonly settlementError: string | null, readonly buyerCostMicro: number, readonly listCostMicro: number, readonly inputTokens: number, readonly outputTokens: number, readonly cacheReadTokens: number, readonly reasoningTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly imageInputTokens: number, readonly imageOutputTokens: number, readonly ttftMs: number | null, readonly durationMs: number, readonly finishReason: string | null, readonly attempts: ReadonlyArray<{ readonly provider: string, readonly status: number, readonly ms: number }>, readonly routing: { readonly offers: ReadonlyArray<{ readonly offer: string, readonly provider: string, readonly estimateMicro: number }>, readonly excluded: ReadonlyArray<{ readonly offer: string, readonly reason: string }>, readonly affinity: { readonly offer: string, readonly savingMicro: number } | null } | null } | null };


export const BuyerLogEntryDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerLogEntry($id: ID!) {
  request(id: $id) {
    requestId
    model
    provider
    settlementStatus
    settlementError
    buyerCostMicro
    listCostMicro
    inputTokens
    outputTokens
    cacheReadTokens
    reasoningTokens
    images
    megapixels
    seconds
    characters
    imageInputTokens
    imageOutputTokens
    ttftMs
    durationMs
    finishReason
    attempts {
      provider
      status
      ms
    }
    routing {
      offers {
        offer
        provider
        estimateMicro
      }
      excluded {
        offer
        reason
      }
      affinity {
        offer
        savingMicro
      }
    }
  }
}
    `) as unknown as TypedDocumentString<BuyerLogEntryQuery, BuyerLogEntryQueryVariables>;