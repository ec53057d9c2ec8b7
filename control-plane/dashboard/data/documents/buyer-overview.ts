/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type BindingCap =
  | 'balance'
  | 'daily'
  | 'monthly';

export type BuyerOverviewQueryVariables = Exact<{
  period: string;
  interval: string;
}>;


export type BuyerOverviewQuery = { readonly me: { readonly wallet: string, readonly creditBalanceUsdc: string, readonly heldUsdc: string } | null, readonly savings: { readonly requests: number, readonly spentMicro: number, readonly listMicro: number, readonly savedMicro: number, readonly savedPct: number, readonly byModel: ReadonlyArray<{ readonly model: string, readonly requests: number, readonly spentMicro: number, readonly savedMicro: number, readonly savedPct: number }> } | null, readonly latency: { readonly calls: number, readonly timed: number, readonly ttftMs: { readonly p50: number, readonly p95: number } | null, readonly durationMs: { readonly p50: number, readonly p95: number } | null } | null, readonly usageBuckets: ReadonlyArray<{ readonly bucket: number, readonly requests: number, readonly failedRequests: number, readonly buyerCostMicro: number, readonly listCostMicro: number }> | null, readonly caps: { readonly keys: ReadonlyArray<{ readonly keyId: string, readonly label: string, readonly binds: BindingCap, readonly daily: { readonly capUsdc: string, readonly usedUsdc: string, readonly leftUsdc: string, readonly isRefusing: boolean, readonly resetsAt: number, readonly runsOutAt: number | null } | null, readonly monthly: { readonly capUsdc: string, readonly usedUsdc: string, readonly leftUsdc: string, readonly isRefusing: boolean, readonly resetsAt: number, readonly runsOutAt: number | null } | null }> } | null };


export const BuyerOverviewDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerOverview($period: String!, $interval: String!) {
  me {
    wallet
    creditBalanceUsdc
    heldUsdc
  }
  savings(period: $period) {
    requests
    spentMicro
    listMicro
    savedMicro
    savedPct
    byModel {
      model
      requests
      spentMicro
      savedMicro
      savedPct
    }
  }
  latency(period: $period) {
    calls
    timed
    ttftMs {
      p50
      p95
    }
    durationMs {
      p50
      p95
    }
  }
  usageBuckets(interval: $interval, filter: {period: $period}) {
    bucket
    requests
    failedRequests
    buyerCostMicro
    listCostMicro
  }
  caps {
    keys {
      keyId
      label
      binds
      daily {
        capUsdc
        usedUsdc
        leftUsdc
        isRefusing
        resetsAt
        runsOutAt
      }
      monthly {
        capUsdc
        usedUsdc
        leftUsdc
        isRefusing
        resetsAt
        runsOutAt
      }
    }
  }
}
    `) as unknown as TypedDocumentString<BuyerOverviewQuery, BuyerOverviewQueryVariables>;