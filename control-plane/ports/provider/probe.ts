import type { Endpoint } from '#shared/catalog/model.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import type { Secret } from '#shared/secret.ts'
import type { Usage } from '#shared/usage.ts'

/** A probe of a provider: does this key serve this model at this address? */
export type ProbeTarget = {
  /** Checked against the allow-list before the probe, and again when the connection is made. */
  readonly baseUrl: URL
  readonly apiFormat: ProtocolName
  readonly apiKey: Secret
  /** Null probes only whether the key is accepted, which a protocol without a list of models cannot do. */
  readonly providerModel: string | null
  /** The purpose of the model; a conversation by default. */
  readonly endpoint?: Endpoint
  /**
   * True for a model that calls tools while it reasons. Where tools may be refused, its probe has a tool and asks for
   * reasoning.
   */
  readonly callsTools?: boolean
  /** Probes the model itself, even when the provider's list names it: models of text alone, or any. */
  readonly asksModel?: 'text' | 'any'
}

/** The provider's address, protocol and key. */
export type ProviderPlace = Pick<ProbeTarget, 'baseUrl' | 'apiFormat' | 'apiKey'>

/**
 * The provider's own names of its models. `isAccepted` is false as in {@link ProbeResult}. `isUnlisted` is true for a
 * protocol without a list, when no request was made.
 */
export type ListedModels =
  | { readonly isAccepted: true; readonly latencyMs: number; readonly models: ReadonlySet<string> }
  | {
      readonly isAccepted: false
      readonly status: number | null
      readonly reason: string
      readonly isUnlisted?: true
    }

/** Reads a provider's list of models, which costs nothing. Never rejects, whatever the provider answers. */
export type ListModels = (place: ProviderPlace) => Promise<ListedModels>

/**
 * `usage` is the usage that the provider bills. `isListed` is true when only the provider's list was read. `status` is
 * the provider's HTTP status, null when it was not reached. `reason` is one line without secrets. `isRate` is true for
 * a rate limit that passes in a moment, `isOfKey` when every other call with the key would fail alike. `speaks` is the
 * only protocol in which the provider serves the model, by its own answer.
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

/** The check of a lent key: a free call of the provider. */
export type KeyProbeTarget = {
  /** On a host of the resource's record. It is checked again when the connection is made. */
  readonly url: URL
  /** The header of the key, and the text before the key. */
  readonly header: string
  readonly prefix: string
  readonly apiKey: Secret
  /** The statuses that show a valid key. */
  readonly accepts: readonly number[]
}

/** `answer` is the body of a JSON answer. */
export type KeyProbeResult =
  | { readonly isAccepted: true; readonly latencyMs: number; readonly answer: unknown }
  | { readonly isAccepted: false; readonly status: number | null; readonly reason: string }

/** Asks a provider once with a key. Never rejects, whatever the provider answers. */
export type KeyProbe = (target: KeyProbeTarget) => Promise<KeyProbeResult>

/** A request with a lent key, about a job that the key started. */
export type LentQuestion = Pick<KeyProbeTarget, 'url' | 'header' | 'prefix' | 'apiKey'> & {
  readonly method: 'GET' | 'POST' | 'PUT'
}

/** A request for a provider's cost report with a seller's admin key, and the further headers of the report. */
export type ReportQuestion = LentQuestion & { readonly more: Readonly<Record<string, string>> }

/** `body` is undefined when it exceeds the limit. `retryAfterMs` is the pause that the provider asks for. */
export type LentReply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string | undefined
  readonly retryAfterMs: number | undefined
}

/** Calls a provider with a lent key. Undefined without an answer. Never rejects, whatever the provider answers. */
export type AskLent = (question: LentQuestion) => Promise<LentReply | undefined>

/** Requests a cost report from a provider. Undefined without an answer. Never rejects. */
export type AskReport = (question: ReportQuestion) => Promise<LentReply | undefined>

/** Probes a provider once. Never rejects, whatever the provider answers. */
export type Probe = (target: ProbeTarget) => Promise<ProbeResult>
