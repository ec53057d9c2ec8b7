import type { ProviderJob } from '#shared/jobs.ts'
import type { JobKind } from '#shared/protocols/job-codec.ts'
import type { ProviderPlace } from './probe.ts'

/** A long job by its provider's id, and the address and key to ask with. */
export type AskedJob = {
  readonly kind: JobKind
  readonly providerJob: string
  readonly place: ProviderPlace
}

/** Asks the provider once for the state of a job. Returns undefined when the answer cannot be used. Never throws. */
export type JobProbe = (job: AskedJob) => Promise<ProviderJob | undefined>
