import type { ProtocolName } from '#shared/protocols/index.ts'
import type { Secret } from '#shared/secret.ts'

/** What to ask a provider: does this key serve this model here. */
export type ProbeTarget = {
  /** Checked against the allow-list before; checked again when dialled. */
  readonly baseUrl: URL
  readonly apiFormat: ProtocolName
  readonly apiKey: Secret
  /** Null asks whether the key is taken at all. */
  readonly providerModel: string | null
  /** True asks the model for one token, even where the provider's list already names it. */
  readonly asksModel?: boolean
}

/** Where to ask and with what. */
export type ProviderPlace = Pick<ProbeTarget, 'baseUrl' | 'apiFormat' | 'apiKey'>

/** The provider's own names of its models; `isAccepted` false as with a probe. */
export type ListedModels =
  | { readonly isAccepted: true; readonly latencyMs: number; readonly models: ReadonlySet<string> }
  | { readonly isAccepted: false; readonly status: number | null; readonly reason: string }

/** Asks a provider for the list of its models, which costs nothing. Never throws for what the provider does. */
export type ListModels = (place: ProviderPlace) => Promise<ListedModels>

/** `status` is the provider's HTTP status, null when it could not be reached; `reason` is one safe line. */
export type ProbeResult =
  | { readonly isAccepted: true; readonly latencyMs: number }
  | { readonly isAccepted: false; readonly status: number | null; readonly reason: string }

/** Asks a provider once. Never throws for what the provider does. */
export type Probe = (target: ProbeTarget) => Promise<ProbeResult>
