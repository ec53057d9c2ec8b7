import type { ProviderJob } from '#shared/jobs.ts'
import type { JobKind } from '#shared/protocols/job-codec.ts'
import type { ProviderPlace } from './probe.ts'

/** A long job by its provider's id, and the address and key for the request. */
export type ProbedJob = {
  readonly kind: JobKind
  readonly providerJob: string
  readonly place: ProviderPlace
  /** True asks the provider to cancel the job. */
  readonly isCancel?: boolean
}

/**
 * The result of a poll. `told`: the provider reports the state of the job. `unknown`: the provider does not know the
 * job, or the key is gone. `silent`: no answer, or an unreadable one. `retryAfterMs` is the pause that the provider
 * asks for.
 */
export type JobAnswer =
  | { readonly kind: 'reported'; readonly job: ProviderJob }
  | { readonly kind: 'unknown'; readonly isKeyless?: true }
  | { readonly kind: 'silent'; readonly status: number | null; readonly retryAfterMs: number | undefined }

/** The result without an answer of the provider. */
export const SILENT: JobAnswer = { kind: 'silent', status: null, retryAfterMs: undefined }

/** The result for a job without a key. */
export const KEYLESS: JobAnswer = { kind: 'unknown', isKeyless: true }

/** Polls the provider once about a job. Never rejects, whatever the provider answers. */
export type JobProbe = (job: ProbedJob) => Promise<JobAnswer>
