import type { Secret } from '#shared/secret.ts'

/** What to ask a provider: does this key serve this model here. */
export type ProbeTarget = {
  /** Checked against the allow-list before; checked again when dialled. */
  readonly baseUrl: URL
  readonly apiFormat: 'openai' | 'messages'
  readonly apiKey: Secret
  /** Null asks whether the key is taken at all. */
  readonly providerModel: string | null
}

/** `status` is the provider's HTTP status, null when it could not be reached; `reason` is one safe line. */
export type ProbeResult =
  | { readonly isAccepted: true; readonly latencyMs: number }
  | { readonly isAccepted: false; readonly status: number | null; readonly reason: string }

/** Asks a provider once. Never throws for what the provider does. */
export type Probe = (target: ProbeTarget) => Promise<ProbeResult>
