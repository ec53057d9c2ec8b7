/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type JobState =
  | 'cancelled'
  | 'failed'
  | 'running'
  | 'succeeded';

export type PageUpdatesSubscriptionVariables = Exact<{
  books: ReadonlyArray<string> | string;
  trades: number;
  credit: boolean;
  jobs: boolean;
  offerHealth: boolean;
}>;


export type PageUpdatesSubscription = { readonly updates: { readonly books: ReadonlyArray<{ readonly model: string, readonly offers: ReadonlyArray<{ readonly id: string, readonly rank: number, readonly seller: string, readonly provider: string, readonly discountPct: number, readonly capDailyMicro: number | null, readonly capRemainingMicro: number | null, readonly available: boolean, readonly healthy: boolean, readonly trusted: boolean, readonly trades24h: number | null, readonly effective: { readonly inputPer1m: number | null, readonly outputPer1m: number | null, readonly mediaUnitPrice: number | null } }> }> | null, readonly trades: ReadonlyArray<{ readonly model: string, readonly costMicro: string, readonly inputTokens: number, readonly outputTokens: number, readonly images: number, readonly megapixels: number, readonly seconds: number, readonly characters: number, readonly createdAt: number }> | null, readonly credit: { readonly creditBalanceUsdc: string, readonly heldUsdc: string } | null, readonly jobs: ReadonlyArray<{ readonly id: string, readonly model: string, readonly state: JobState, readonly submittedAt: number, readonly deadlineAt: number, readonly endedAt: number | null, readonly chargeMicro: string | null }> | null, readonly offerHealth: ReadonlyArray<{ readonly id: string, readonly model: string, readonly status: string, readonly healthy: boolean, readonly backedOffUntil: number | null, readonly delistedReason: string | null, readonly capDailyRemainingUsd: number | null }> | null } };


export const PageUpdatesDocument = /* @__PURE__ */ new TypedDocumentString(`
    subscription PageUpdates($books: [ID!]!, $trades: Int!, $credit: Boolean!, $jobs: Boolean!, $offerHealth: Boolean!) {
  updates(
    books: $books
    trades: $trades
    credit: $credit
    jobs: $jobs
    offerHealth: $offerHealth
  ) {
    books {
      model
      offers(first: 50) {
        id
        rank
        seller
        provider
        discountPct
        capDailyMicro
        capRemainingMicro
        available
        healthy
        trusted
        trades24h
        effective {
          inputPer1m
          outputPer1m
          mediaUnitPrice
        }
      }
    }
    trades {
      model
      costMicro
      inputTokens
      outputTokens
      images
      megapixels
      seconds
      characters
      createdAt
    }
    credit {
      creditBalanceUsdc
      heldUsdc
    }
    jobs {
      id
      model
      state
      submittedAt
      deadlineAt
      endedAt
      chargeMicro
    }
    offerHealth {
      id
      model
      status
      healthy
      backedOffUntil
      delistedReason
      capDailyRemainingUsd
    }
  }
}
    `) as unknown as TypedDocumentString<PageUpdatesSubscription, PageUpdatesSubscriptionVariables>;