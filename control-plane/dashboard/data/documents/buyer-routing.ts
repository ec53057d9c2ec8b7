/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
/** What calls may ask of their offers. It stands in place of the preferences of the account. `sort` is `price`, `latency` or `throughput`. */
export type RoutingPolicyInput = {
  readonly allowUntrusted?: boolean | null | undefined;
  readonly minDiscountPct?: number | null | undefined;
  readonly providerOrder?: ReadonlyArray<string> | null | undefined;
  readonly providersBlocked?: ReadonlyArray<string> | null | undefined;
  readonly providersOnly?: ReadonlyArray<string> | null | undefined;
  readonly sort?: string | null | undefined;
};

export type BuyerRoutingQueryVariables = Exact<{
  policy: RoutingPolicyInput;
  window?: string | null | undefined;
}>;


export type BuyerRoutingQuery = { readonly routingSimulation: { readonly from: number, readonly to: number, readonly calls: number, readonly isWhole: boolean, readonly paidMicro: number, readonly listMicro: number, readonly paidTtftMs: number | null, readonly comparedCalls: number, readonly comparedPresentMicro: number, readonly comparedPolicyMicro: number, readonly unknownProviders: ReadonlyArray<string>, readonly present: { readonly served: number, readonly unserved: number, readonly unservedPct: number | null, readonly costMicro: number, readonly listMicro: number, readonly ttftMs: number | null, readonly timed: number }, readonly policy: { readonly served: number, readonly unserved: number, readonly unservedPct: number | null, readonly costMicro: number, readonly listMicro: number, readonly ttftMs: number | null, readonly timed: number }, readonly byModel: ReadonlyArray<{ readonly model: string, readonly calls: number, readonly paidMicro: number, readonly presentMicro: number, readonly presentUnserved: number, readonly policyMicro: number, readonly policyUnserved: number, readonly policyProvider: string | null }> } | null };


export const BuyerRoutingDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerRouting($policy: RoutingPolicyInput!, $window: String) {
  routingSimulation(policy: $policy, window: $window) {
    from
    to
    calls
    isWhole
    paidMicro
    listMicro
    paidTtftMs
    present {
      served
      unserved
      unservedPct
      costMicro
      listMicro
      ttftMs
      timed
    }
    policy {
      served
      unserved
      unservedPct
      costMicro
      listMicro
      ttftMs
      timed
    }
    comparedCalls
    comparedPresentMicro
    comparedPolicyMicro
    byModel {
      model
      calls
      paidMicro
      presentMicro
      presentUnserved
      policyMicro
      policyUnserved
      policyProvider
    }
    unknownProviders
  }
}
    `) as unknown as TypedDocumentString<BuyerRoutingQuery, BuyerRoutingQueryVariables>;