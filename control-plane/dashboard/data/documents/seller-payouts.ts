/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type PayoutStatus =
  | 'authorized'
  | 'held'
  | 'in_flight'
  | 'paid'
  | 'returned'
  | 'scheduled';

export type SellerPayoutsQueryVariables = Exact<{
  nextToken?: string | null | undefined;
}>;


export type SellerPayoutsQuery = { readonly payouts: { readonly availableUsdc: string, readonly inFlightUsdc: string, readonly paidUsdc: string, readonly thresholdUsdc: string, readonly nextToken: string | null, readonly payoutStop: string | null, readonly recipients: ReadonlyArray<{ readonly recipient: string | null, readonly earnedUsdc: string, readonly availableUsdc: string, readonly inFlightUsdc: string, readonly paidUsdc: string, readonly holdReason: string | null, readonly coolsUntil: number | null }>, readonly payouts: ReadonlyArray<{ readonly payoutId: string, readonly status: PayoutStatus, readonly amountUsdc: string, readonly recipient: string, readonly createdAt: number, readonly confirmedAt: number | null, readonly txHash: string | null, readonly reason: string | null }>, readonly payoutHold: { readonly reason: string, readonly since: number | null } | null } | null };


export const SellerPayoutsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerPayouts($nextToken: String) {
  payouts(maxItems: 50, nextToken: $nextToken) {
    availableUsdc
    inFlightUsdc
    paidUsdc
    thresholdUsdc
    nextToken
    recipients {
      recipient
      earnedUsdc
      availableUsdc
      inFlightUsdc
      paidUsdc
      holdReason
      coolsUntil
    }
    payouts {
      payoutId
      status
      amountUsdc
      recipient
      createdAt
      confirmedAt
      txHash
      reason
    }
    payoutStop
    payoutHold {
      reason
      since
    }
  }
}
    `) as unknown as TypedDocumentString<SellerPayoutsQuery, SellerPayoutsQueryVariables>;