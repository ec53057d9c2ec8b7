/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type BindingCap =
  | 'balance'
  | 'daily'
  | 'monthly';

export type BuyerLimitsQueryVariables = Exact<{ [key: string]: never; }>;


export type BuyerLimitsQuery = { readonly caps: { readonly creditBalanceUsdc: string, readonly heldUsdc: string, readonly keys: ReadonlyArray<{ readonly keyId: string, readonly label: string, readonly binds: BindingCap, readonly rateLimitRpm: number | null, readonly daily: { readonly capUsdc: string, readonly usedUsdc: string, readonly leftUsdc: string, readonly isRefusing: boolean, readonly resetsAt: number, readonly runsOutAt: number | null } | null, readonly monthly: { readonly capUsdc: string, readonly usedUsdc: string, readonly leftUsdc: string, readonly isRefusing: boolean, readonly resetsAt: number, readonly runsOutAt: number | null } | null }> } | null, readonly webhooks: ReadonlyArray<{ readonly id: string, readonly url: string, readonly label: string | null, readonly events: ReadonlyArray<string>, readonly lowBalanceUsd: number | null, readonly enabled: boolean }> | null };

export type CapFragment = { readonly capUsdc: string, readonly usedUsdc: string, readonly leftUsdc: string, readonly isRefusing: boolean, readonly resetsAt: number, readonly runsOutAt: number | null };

export const CapFragmentDoc = /* @__PURE__ */ new TypedDocumentString(`
    fragment Cap on Cap {
  capUsdc
  usedUsdc
  leftUsdc
  isRefusing
  resetsAt
  runsOutAt
}
    `) as unknown as TypedDocumentString<CapFragment, unknown>;
export const BuyerLimitsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerLimits {
  caps {
    creditBalanceUsdc
    heldUsdc
    keys {
      keyId
      label
      binds
      rateLimitRpm
      daily {
        ...Cap
      }
      monthly {
        ...Cap
      }
    }
  }
  webhooks {
    id
    url
    label
    events
    lowBalanceUsd
    enabled
  }
}
    fragment Cap on Cap {
  capUsdc
  usedUsdc
  leftUsdc
  isRefusing
  resetsAt
  runsOutAt
}`) as unknown as TypedDocumentString<BuyerLimitsQuery, BuyerLimitsQueryVariables>;