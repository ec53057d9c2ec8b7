/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type PublicReceiptQueryVariables = Exact<{
  id: string;
}>;


export type PublicReceiptQuery = { readonly payment: { readonly requestId: string, readonly settlementStatus: string, readonly settlementType: string, readonly settlementError: string | null, readonly confirmedAt: string | null, readonly buyerCostMicro: number, readonly txHash: string | null } | null };


export const PublicReceiptDocument = /* @__PURE__ */ new TypedDocumentString(`
    query PublicReceipt($id: ID!) {
  payment(id: $id) {
    requestId
    settlementStatus
    settlementType
    settlementError
    confirmedAt
    buyerCostMicro
    txHash
  }
}
    `) as unknown as TypedDocumentString<PublicReceiptQuery, PublicReceiptQueryVariables>;