/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type BuyerReceiptQueryVariables = Exact<{
  id: string;
  transaction?: string | null | undefined;
  isTransaction: boolean;
}>;


export type BuyerReceiptQuery = { readonly request?: { readonly requestId: string, readonly model: string, readonly provider: string | null, readonly settlementStatus: string, readonly settlementType: string, readonly settlementError: string | null, readonly confirmedAt: string | null, readonly createdAt: number, readonly buyerCostMicro: number, readonly listCostMicro: number, readonly txHash: string | null, readonly inputTokens: number, readonly outputTokens: number, readonly cacheReadTokens: number, readonly reasoningTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number } | null, readonly requests?: { readonly edges: ReadonlyArray<{ readonly node: { readonly requestId: string, readonly model: string, readonly provider: string | null, readonly settlementStatus: string, readonly settlementType: string, readonly settlementError: string | null, readonly confirmedAt: string | null, readonly createdAt: number, readonly buyerCostMicro: number, readonly listCostMicro: number, readonly txHash: string | null, readonly inputTokens: number, readonly outputTokens: number, readonly cacheReadTokens: number, readonly reasoningTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number } }> } | null };

export type ReceiptFragment = { readonly requestId: string, readonly model: string, readonly provider: string | null, readonly settlementStatus: string, readonly settlementType: string, readonly settlementError: string | null, readonly confirmedAt: string | null, readonly createdAt: number, readonly buyerCostMicro: number, readonly listCostMicro: number, readonly txHash: string | null, readonly inputTokens: number, readonly outputTokens: number, readonly cacheReadTokens: number, readonly reasoningTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number };

export const ReceiptFragmentDoc = /* @__PURE__ */ new TypedDocumentString(`
    fragment Receipt on RequestRecord {
  requestId
  model
  provider
  settlementStatus
  settlementType
  settlementError
  confirmedAt
  createdAt
  buyerCostMicro
  listCostMicro
  txHash
  inputTokens
  outputTokens
  cacheReadTokens
  reasoningTokens
  images
  megapixels
  seconds
  characters
}
    `) as unknown as TypedDocumentString<ReceiptFragment, unknown>;
export const BuyerReceiptDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerReceipt($id: ID!, $transaction: String, $isTransaction: Boolean!) {
  request(id: $id) @skip(if: $isTransaction) {
    ...Receipt
  }
  requests(first: 20, transaction: $transaction) @include(if: $isTransaction) {
    edges {
      node {
        ...Receipt
      }
    }
  }
}
    fragment Receipt on RequestRecord {
  requestId
  model
  provider
  settlementStatus
  settlementType
  settlementError
  confirmedAt
  createdAt
  buyerCostMicro
  listCostMicro
  txHash
  inputTokens
  outputTokens
  cacheReadTokens
  reasoningTokens
  images
  megapixels
  seconds
  characters
}`) as unknown as TypedDocumentString<BuyerReceiptQuery, BuyerReceiptQueryVariables>;