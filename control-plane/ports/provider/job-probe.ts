import type { ProviderJob } from '#shared/jobs.ts'
import type { JobKind } from '#shared/protocols/job-codec.ts'
import type { ProviderPlace } from './probe.ts'

/** A long job by its provider's id, and the address and key to ask with. */
export type ProbedJob = {
  readonly kind: JobKind
  readonly providerJob: string
  readonly place: ProviderPlace
  /** True asks the provider to cancel the job. */
  readonly isCancel?: boolean
}

/**
 * A provider's answer. `told` is the state of the job. `unknown`: there is no such job, or nobody has its key. `silent`:
 * nothing that can be read, or nothing at all. `retryAfterMs` is how long the provider wants to be left alone.
 */
export type JobAnswer =
  | { readonly kind: 'told'; readonly job: ProviderJob }
  | { readonly kind: 'unknown'; readonly isKeyless?: true }
  | { readonly kind: 'silent'; readonly status: number | null; readonly retryAfterMs: number | undefined }

/** The answer of a provider that could not be asked. */
export const SILENT: JobAnswer = { kind: 'silent', status: null, retryAfterMs: undefined }

/** The answer about a job that nobody can ask about any more. */
export const KEYLESS: JobAnswer = { kind: 'unknown', isKeyless: true }

/** Asks the provider once about a job. No behaviour of the provider makes it throw. */
export type JobProbe = (job: ProbedJob) => Promise<JobAnswer>
