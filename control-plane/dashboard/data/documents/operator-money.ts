/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type TransferState =
  | 'held'
  | 'mined'
  | 'paid'
  | 'returned'
  | 'scheduled'
  | 'signed';

export type WalletPaymentState =
  | 'claimed'
  | 'confirmed'
  | 'due'
  | 'mined'
  | 'released'
  | 'written_off';

export type OperatorMoneyQueryVariables = Exact<{ [key: string]: never; }>;


export type OperatorMoneyQuery = { readonly shortfall: { readonly owedMicro: string, readonly lines: ReadonlyArray<{ readonly tx: string, readonly kind: string, readonly amountMicro: string, readonly at: number, readonly account: string | null, readonly reason: string | null }> } | null, readonly treasury: { readonly isSetUp: boolean, readonly balanceMicro: string | null, readonly floorMicro: string | null, readonly ceilingMicro: string | null, readonly needsRefill: boolean, readonly stoppedFor: string | null, readonly drainedAt: number | null, readonly departureHold: { readonly since: number, readonly waitsFor: string, readonly treasury: string | null, readonly block: number | null, readonly until: number | null, readonly open: ReadonlyArray<string> } | null, readonly states: ReadonlyArray<{ readonly state: TransferState, readonly count: number, readonly amountMicro: string, readonly oldestAt: number }>, readonly stops: ReadonlyArray<{ readonly seller: string, readonly reason: string, readonly setBy: string, readonly setAt: number }> } | null, readonly treasuryTransfers: ReadonlyArray<{ readonly id: string, readonly state: TransferState, readonly purpose: string, readonly recipient: string, readonly amountMicro: string, readonly plannedAt: number, readonly reason: string | null, readonly transaction: string | null }> | null, readonly walletPaymentsState: { readonly isOpen: boolean, readonly closedFor: string | null, readonly facilitator: string | null, readonly gasWei: string | null, readonly exposureMicro: string, readonly exposureLimitMicro: string | null, readonly hanging: number, readonly unminedTransactions: number, readonly states: ReadonlyArray<{ readonly state: WalletPaymentState, readonly count: number, readonly amountMicro: string, readonly oldestAt: number }> } | null, readonly walletPayments: ReadonlyArray<{ readonly rid: string, readonly rail: string, readonly payer: string, readonly state: WalletPaymentState, readonly amountMicro: string, readonly dueMicro: string | null, readonly chargeMicro: string | null, readonly claimedAt: number, readonly reason: string | null, readonly transaction: string | null }> | null, readonly openHolds: ReadonlyArray<{ readonly rid: string, readonly account: string, readonly node: string, readonly amountMicro: string, readonly openedAt: number, readonly expiresAt: number, readonly isOverdue: boolean }> | null, readonly poisonedEvents: ReadonlyArray<{ readonly payloadHash: string, readonly rid: string | null, readonly reason: string, readonly detail: string, readonly timesSeen: number, readonly isSettled: boolean }> | null, readonly conflictingEvents: ReadonlyArray<{ readonly rid: string, readonly payloadHash: string, readonly source: string, readonly settledChargeMicro: string | null }> | null };


export const OperatorMoneyDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorMoney {
  shortfall {
    owedMicro
    lines {
      tx
      kind
      amountMicro
      at
      account
      reason
    }
  }
  treasury {
    isSetUp
    balanceMicro
    floorMicro
    ceilingMicro
    needsRefill
    stoppedFor
    departureHold {
      since
      waitsFor
      treasury
      block
      until
      open
    }
    drainedAt
    states {
      state
      count
      amountMicro
      oldestAt
    }
    stops {
      seller
      reason
      setBy
      setAt
    }
  }
  treasuryTransfers(limit: 25) {
    id
    state
    purpose
    recipient
    amountMicro
    plannedAt
    reason
    transaction
  }
  walletPaymentsState {
    isOpen
    closedFor
    facilitator
    gasWei
    exposureMicro
    exposureLimitMicro
    hanging
    unminedTransactions
    states {
      state
      count
      amountMicro
      oldestAt
    }
  }
  walletPayments(limit: 25) {
    rid
    rail
    payer
    state
    amountMicro
    dueMicro
    chargeMicro
    claimedAt
    reason
    transaction
  }
  openHolds(limit: 50) {
    rid
    account
    node
    amountMicro
    openedAt
    expiresAt
    isOverdue
  }
  poisonedEvents {
    payloadHash
    rid
    reason
    detail
    timesSeen
    isSettled
  }
  conflictingEvents {
    rid
    payloadHash
    source
    settledChargeMicro
  }
}
    `) as unknown as TypedDocumentString<OperatorMoneyQuery, OperatorMoneyQueryVariables>;