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

export type OperatorAuditQueryVariables = Exact<{
  operation?: string | null | undefined;
  subject?: string | null | undefined;
  after?: string | null | undefined;
}>;


export type OperatorAuditQuery = { readonly audit: { readonly edges: ReadonlyArray<{ readonly node: { readonly id: string, readonly at: number, readonly operation: string, readonly actorKind: string, readonly actor: string, readonly subject: string | null, readonly before: string | null, readonly after: string | null } }>, readonly pageInfo: { readonly hasNextPage: boolean, readonly endCursor: string | null } } | null, readonly features: ReadonlyArray<{ readonly name: FeatureName, readonly isOn: boolean, readonly meaning: string, readonly reason: string | null, readonly changedAt: number | null }> | null, readonly rateLimits: ReadonlyArray<{ readonly name: string, readonly plane: string, readonly perKey: number, readonly perWallet: number | null, readonly isStandard: boolean }> | null };


export const OperatorAuditDocument = /* @__PURE__ */ new TypedDocumentString(`
    query OperatorAudit($operation: String, $subject: String, $after: String) {
  audit(first: 50, after: $after, operation: $operation, subject: $subject) {
    edges {
      node {
        id
        at
        operation
        actorKind
        actor
        subject
        before
        after
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
  features {
    name
    isOn
    meaning
    reason
    changedAt
  }
  rateLimits {
    name
    plane
    perKey
    perWallet
    isStandard
  }
}
    `) as unknown as TypedDocumentString<OperatorAuditQuery, OperatorAuditQueryVariables>;