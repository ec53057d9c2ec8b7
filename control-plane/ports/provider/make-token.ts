import type { ServiceAccount } from '#shared/protocols/service-account.ts'
import type { Secret } from '#shared/secret.ts'

/** The request for an access token. */
export type TokenQuestion = {
  readonly account: ServiceAccount
  /** The address that the token is for. */
  readonly baseUrl: URL
}

/** `lifeMs` counts from the request. `status` is null without an answer. `reason` is one line without secrets. */
export type TokenAnswer =
  | { readonly isMade: true; readonly token: Secret; readonly lifeMs: number }
  | { readonly isMade: false; readonly status: number | null; readonly reason: string }

/** Requests an access token for a service account. Never rejects, whatever the token endpoint answers. */
export type MakeToken = (question: TokenQuestion) => Promise<TokenAnswer>
