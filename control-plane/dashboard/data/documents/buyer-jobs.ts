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

export type BuyerJobsQueryVariables = Exact<{
  after?: string | null | undefined;
}>;


export type BuyerJobsQuery = { readonly service: { readonly apiBaseUrl: string } | null, readonly running: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string | null, readonly endpoint: string, readonly keyId: string | null, readonly state: JobState, readonly submittedAt: number, readonly deadlineAt: number, readonly endedAt: number | null, readonly quoteMicro: string, readonly chargeMicro: string | null, readonly kind: string, readonly unit: string | null, readonly units: number | null, readonly artifacts: number | null } }> } | null, readonly jobs: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly model: string, readonly provider: string | null, readonly endpoint: string, readonly keyId: string | null, readonly state: JobState, readonly submittedAt: number, readonly deadlineAt: number, readonly endedAt: number | null, readonly quoteMicro: string, readonly chargeMicro: string | null, readonly kind: string, readonly unit: string | null, readonly units: number | null, readonly artifacts: number | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null };

export type JobFragment = { readonly id: string, readonly model: string, readonly provider: string | null, readonly endpoint: string, readonly keyId: string | null, readonly state: JobState, readonly submittedAt: number, readonly deadlineAt: number, readonly endedAt: number | null, readonly quoteMicro: string, readonly chargeMicro: string | null, readonly kind: string, readonly unit: string | null, readonly units: number | null, readonly artifacts: number | null };

export const JobFragmentDoc = /* @__PURE__ */ new TypedDocumentString(`
    fragment Job on Job {
  id
  model
  provider
  endpoint
  keyId
  state
  submittedAt
  deadlineAt
  endedAt
  quoteMicro
  chargeMicro
  kind
  unit
  units
  artifacts
}
    `) as unknown as TypedDocumentString<JobFragment, unknown>;
export const BuyerJobsDocument = /* @__PURE__ */ new TypedDocumentString(`
    query BuyerJobs($after: String) {
  service {
    apiBaseUrl
  }
  running: jobs(first: 25, state: running) {
    edges {
      node {
        ...Job
      }
    }
  }
  jobs(first: 25, after: $after) {
    edges {
      node {
        ...Job
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
    fragment Job on Job {
  id
  model
  provider
  endpoint
  keyId
  state
  submittedAt
  deadlineAt
  endedAt
  quoteMicro
  chargeMicro
  kind
  unit
  units
  artifacts
}`) as unknown as TypedDocumentString<BuyerJobsQuery, BuyerJobsQueryVariables>;