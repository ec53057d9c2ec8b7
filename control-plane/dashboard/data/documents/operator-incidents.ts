/** Internal type. DO NOT USE DIRECTLY. */
type Exact<T extends { [key: string]: unknown }> = { [K in keyof T]: T[K] };
/** Internal type. DO NOT USE DIRECTLY. */
export type Incremental<T> = T | { [P in keyof T]?: P extends ' $fragmentName' | '__typename' ? T[P] : never };
import { TypedDocumentString } from '#control-plane/dashboard/data/typed-document.ts'
export type FeatureName =
  | 'long_jobs'
  | 'mpp'
  | 'new_offers'
  | 'paid_calls'
  | 'payouts'
  | 'sign_ups'
  | 'x402_exact'
  | 'x402_upto';

export type OperatorIncidentsQueryVariables = Exact<{
  from?: number | null | undefined;
  model?: string | null | undefined;
  provider?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type OperatorIncidentsQuery = { readonly rails: ReadonlyArray<{ readonly rail: string, readonly state: string }> | null, readonly features: ReadonlyArray<{ readonly name: FeatureName, readonly isOn: boolean, readonly meaning: string, readonly reason: string | null, readonly changedAt: number | null }> | null, readonly incidents: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string, readonly startedAt: number, readonly endedAt: number | null, readonly offers: number, readonly offersOnSale: number, readonly backOffs: number, readonly cause: string | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly anyOffers: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string, readonly delistedReason: string | null } }> } | null, readonly declaredIncidents: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly title: string, readonly models: ReadonlyArray<string>, readonly providers: ReadonlyArray<string>, readonly state: string, readonly startedAt: number, readonly endedAt: number | null, readonly notes: ReadonlyArray<{ readonly at: number, readonly state: string, readonly note: string }> } }> } | null };


export const OperatorIncidentsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorIncidents($from: Float, $model: ID, $provider: String, $after: String) {
  rails {
    rail
    state
  }
  features {
    name
    isOn
    meaning
    reason
    changedAt
  }
  incidents(
    first: 50
    after: $after
    from: $from
    model: $model
    provider: $provider
  ) {
    edges {
      node {
        id
        model
        provider
        startedAt
        endedAt
        offers
        offersOnSale
        backOffs
        cause
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  anyOffers(first: 50, isDelisted: true) {
    edges {
      node {
        id
        model
        provider
        delistedReason
      }
    }
  }
  declaredIncidents(first: 10, from: $from, model: $model, provider: $provider) {
    edges {
      node {
        id
        title
        models
        providers
        state
        startedAt
        endedAt
        notes {
          at
          state
          note
        }
      }
    }
  }
}
    `) as unknown as TypedDocumentString<OperatorIncidentsQuery, OperatorIncidentsQueryVariables>;