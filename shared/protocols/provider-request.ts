/** A request in a provider's protocol. */
export type ProviderRequest = {
  /** POST by default. GET and DELETE have no body. */
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** The path behind the provider's base URL. */
  readonly path: string
  readonly body: string
  readonly contentType: string
  readonly accept: string
  /** Names and values of further headers, one after another. */
  readonly headers?: readonly string[]
}

/** A request made from a buyer's request. */
export type EncodedRequest = ProviderRequest & {
  /** Names of the buyer's parameters that were left out or changed. */
  readonly adaptedParams: readonly string[]
}

/** The types of every request with a JSON body and a JSON answer. */
export const JSON_REQUEST = { contentType: 'application/json', accept: 'application/json' } as const
/** The type of an answer that is a stream of events. */
export const EVENT_STREAM = 'text/event-stream'
