/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type OfferStatus =
  | 'active'
  | 'inactive'
  | 'paused';

export type SellerYieldQueryVariables = Exact<{
  model: string;
  name: string;
  hasModel: boolean;
}>;


export type SellerYieldQuery = { readonly offerYield: { readonly total: number, readonly models: ReadonlyArray<{ readonly model: string, readonly offers: number, readonly bestDiscountPct: number | null, readonly won: number, readonly earnedMicro: number, readonly passed: number, readonly passedMicro: number }> } | null, readonly priceHistory?: { readonly paid: ReadonlyArray<{ readonly bucket: number, readonly trades: number, readonly volumeMicro: string, readonly discountPct: number | null, readonly bestDiscountPct: number | null }> | null } | null, readonly demand?: { readonly since: number, readonly steps: ReadonlyArray<{ readonly discountPct: number, readonly calls: number, readonly listMicro: string, readonly paidMicro: string }> } | null, readonly orderBook?: { readonly edges: ReadonlyArray<{ readonly node: { readonly rank: number, readonly discountPct: number, readonly capDailyMicro: number | null, readonly capRemainingMicro: number | null, readonly available: boolean, readonly trades24h: number | null } }> } | null, readonly offers?: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly discount: number, readonly status: OfferStatus, readonly capDailyUsd: number | null, readonly capDailyRemainingUsd: number | null } }> } | null };


export const SellerYieldDocument = /* @__PURE__ */ new TypedDocumentString(`
    query SellerYield($model: ID!, $name: String!, $hasModel: Boolean!) {
  offerYield {
    total
    models {
      model
      offers
      bestDiscountPct
      won
      earnedMicro
      passed
      passedMicro
    }
  }
  priceHistory(model: $name, bucket: hour) @include(if: $hasModel) {
    paid {
      bucket
      trades
      volumeMicro
      discountPct
      bestDiscountPct
    }
  }
  demand(model: $name) @include(if: $hasModel) {
    since
    steps {
      discountPct
      calls
      listMicro
      paidMicro
    }
  }
  orderBook(model: $model, first: 100) @include(if: $hasModel) {
    edges {
      node {
        rank
        discountPct
        capDailyMicro
        capRemainingMicro
        available
        trades24h
      }
    }
  }
  offers(first: 100, model: $name) @include(if: $hasModel) {
    edges {
      node {
        id
        discount
        status
        capDailyUsd
        capDailyRemainingUsd
      }
    }
  }
}
    `) as unknown as TypedDocumentString<SellerYieldQuery, SellerYieldQueryVariables>;