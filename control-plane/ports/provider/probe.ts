import type { Endpoint } from '#shared/catalog/model.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import type { Secret } from '#shared/secret.ts'
import type { Usage } from '#shared/usage.ts'

/** The question to a provider: does this key serve this model at this address? */
export type ProbeTarget = {
  /** Checked against the allow-list before the probe, and again when the connection is made. */
  readonly baseUrl: URL
  readonly apiFormat: ProtocolName
  readonly apiKey: Secret
  /** Null asks only whether the key is accepted, which a protocol without a list of models cannot say. */
  readonly providerModel: string | null
  /** The purpose of the model; a conversation unless it is named. */
  readonly endpoint?: Endpoint
  /** True for a model that calls tools while it thinks: it is asked with a tool and a wish to think where that may be refused. */
  readonly callsTools?: boolean
  /** Asks the model itself, even when the provider's list names it: models of text alone, or any. */
  readonly asksModel?: 'text' | 'any'
}

/** The provider's address, protocol and key. */
export type ProviderPlace = Pick<ProbeTarget, 'baseUrl' | 'apiFormat' | 'apiKey'>

/**
 * The provider's own names of its models. `isAccepted` is false as in {@link ProbeResult}. `isUnlisted` is true where the
 * protocol has no list, so that nobody was asked.
 */
export type ListedModels =
  | { readonly isAccepted: true; readonly latencyMs: number; readonly models: ReadonlySet<string> }
  | {
      readonly isAccepted: false
      readonly status: number | null
      readonly reason: string
      readonly isUnlisted?: true
    }

/** Reads a provider's list of models, which costs nothing. No behaviour of the provider makes it throw. */
export type ListModels = (place: ProviderPlace) => Promise<ListedModels>

/**
 * `usage` is what the provider bills the owner of the key for. `isListed` is true where the provider's list alone was asked. `status` is the provider's HTTP status, null when it was not reached. `reason` is one line without secrets. `isRate` is
 * true where the provider asks only to be left alone for a moment, `isOfKey` where every other call with the key would
 * end alike. `speaks` is the protocol in which alone the provider says to serve the model.
 */
export type ProbeResult =
  | { readonly isAccepted: true; readonly latencyMs: number; readonly usage: Usage; readonly isListed?: true }
  | {
      readonly isAccepted: false
      readonly status: number | null
      readonly reason: string
      readonly isRate?: true
      readonly isOfKey?: true
      readonly speaks?: ProtocolName
    }

/** The question whether a lent key is good: a free call of the provider's. */
export type KeyProbeTarget = {
  /** On a host of the resource's record. It is checked again when the connection is made. */
  readonly url: URL
  /** The header that carries the key, and what stands before it. */
  readonly header: string
  readonly prefix: string
  readonly apiKey: Secret
  /** The statuses that show a good key. */
  readonly accepts: readonly number[]
}

/** `answer` is the body where it is JSON. */
export type KeyProbeResult =
  | { readonly isAccepted: true; readonly latencyMs: number; readonly answer: unknown }
  | { readonly isAccepted: false; readonly status: number | null; readonly reason: string }

/** Asks a provider once with a key. No behaviour of the provider makes it throw. */
export type KeyProbe = (target: KeyProbeTarget) => Promise<KeyProbeResult>

/** A request with a lent key, about a job that the key has started. */
export type LentQuestion = Pick<KeyProbeTarget, 'url' | 'header' | 'prefix' | 'apiKey'> & {
  readonly method: 'GET' | 'POST' | 'PUT'
}

/** A request for the cost report of a provider with a seller's admin key, and further headers that the report wants. */
export type ReportQuestion = LentQuestion & { readonly more: Readonly<Record<string, string>> }

/** `body` is undefined when it is longer than is read. `retryAfterMs` is how long the provider wants to be left alone. */
export type LentReply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string | undefined
  readonly retryAfterMs: number | undefined
}

/** Asks a provider with a lent key. Undefined without an answer. No behaviour of the provider makes it throw. */
export type AskLent = (question: LentQuestion) => Promise<LentReply | undefined>

/** Asks a provider for a cost report. Undefined without an answer. No behaviour of the provider makes it throw. */
export type AskReport = (question: ReportQuestion) => Promise<LentReply | undefined>

/** Asks a provider once. No behaviour of the provider makes it throw. */
export type Probe = (target: ProbeTarget) => Promise<ProbeResult>
