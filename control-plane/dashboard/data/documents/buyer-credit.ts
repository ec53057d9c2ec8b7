/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type AllowanceDrawStatus =
  | 'approved'
  | 'failed'
  | 'planned'
  | 'settled';

export type AllowancePermitStatus =
  | 'refused'
  | 'signed'
  | 'used';

export type AllowanceStatus =
  | 'closed'
  | 'none'
  | 'open'
  | 'stopped';

export type DepositMethod =
  | 'allowance'
  | 'authorization'
  | 'transfer';

export type DepositState =
  | 'credited'
  | 'expired'
  | 'opened'
  | 'refused'
  | 'signed';

/** A period that ends now, or ends of a window in Unix milliseconds. */
export type UsageWindow = {
  readonly from?: number | null | undefined;
  readonly period?: string | null | undefined;
  readonly to?: number | null | undefined;
};

export type BuyerCreditQueryVariables = Exact<{
  after?: string | null | undefined;
  window?: UsageWindow | null | undefined;
  withAllowance?: boolean;
}>;


export type BuyerCreditQuery = { readonly me: { readonly creditBalanceUsdc: string, readonly heldUsdc: string, readonly balanceUsdc: string | null, readonly allowanceUsdc: string | null, readonly settlementContract: string | null } | null, readonly allowance?: { readonly status: AllowanceStatus, readonly reason: string | null, readonly wallet: string, readonly spender: string, readonly balanceUsdc: string | null, readonly allowanceUsdc: string | null, readonly readAt: number | null, readonly advancedUsdc: string, readonly owedUsdc: string, readonly limitUsdc: string, readonly permit: { readonly id: string, readonly status: AllowancePermitStatus, readonly valueUsdc: string, readonly validUntil: number } | null, readonly draws: ReadonlyArray<{ readonly id: string, readonly status: AllowanceDrawStatus, readonly reason: string | null, readonly amountUsdc: string, readonly txHash: string | null, readonly createdAt: number }> } | null, readonly deposits: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly method: DepositMethod, readonly status: DepositState, readonly amountUsdc: string, readonly sender: string, readonly createdAt: number, readonly creditedAt: number | null, readonly reason: string | null, readonly txHash: string | null } }> } | null, readonly statements: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly kind: string, readonly createdAt: number, readonly amountMicro: number, readonly balanceMicro: number, readonly note: string | null, readonly model: string | null, readonly txHash: string | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };


export const BuyerCreditDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerCredit($after: String, $window: UsageWindow, $withAllowance: Boolean! = true) {
  me {
    creditBalanceUsdc
    heldUsdc
    balanceUsdc
    allowanceUsdc
    settlementContract
  }
  allowance @include(if: $withAllowance) {
    status
    reason
    wallet
    spender
    balanceUsdc
    allowanceUsdc
    readAt
    advancedUsdc
    owedUsdc
    limitUsdc
    permit {
      id
      status
      valueUsdc
      validUntil
    }
    draws {
      id
      status
      reason
      amountUsdc
      txHash
      createdAt
    }
  }
  deposits(first: 10) {
    edges {
      node {
        id
        method
        status
        amountUsdc
        sender
        createdAt
        creditedAt
        reason
        txHash
      }
    }
  }
  statements(first: 50, after: $after, window: $window) {
    edges {
      node {
        id
        kind
        createdAt
        amountMicro
        balanceMicro
        note
        model
        txHash
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    `) as unknown as TypedDocumentString<BuyerCreditQuery, BuyerCreditQueryVariables>;