/** A request in a provider's protocol. */
export type ProviderRequest = {
  /** POST unless said otherwise; the others have no body. */
  readonly method?: 'GET' | 'DELETE'
  /** What follows the provider's base URL. */
  readonly path: string
  readonly body: string
  readonly contentType: string
  readonly accept: string
}

/** The same, made of a buyer's request. */
export type EncodedRequest = ProviderRequest & {
  /** Names of the buyer's parameters that were left out or changed. */
  readonly adaptedParams: readonly string[]
}

/** What every request with a JSON body and a JSON answer says. */
export const JSON_REQUEST = { contentType: 'application/json', accept: 'application/json' } as const
