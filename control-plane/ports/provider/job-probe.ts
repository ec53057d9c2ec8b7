import type { ProviderJob } from '#shared/jobs.ts'
import type { JobKind } from '#shared/protocols/job-codec.ts'
import type { ProviderPlace } from './probe.ts'

/** A long job as its provider knows it, and where and with which key to ask. */
export type AskedJob = {
  readonly kind: JobKind
  readonly providerJob: string
  readonly place: ProviderPlace
}

/** Asks the provider of a job once how it stands; undefined for anything but a plain answer. Never throws. */
export type JobProbe = (job: AskedJob) => Promise<ProviderJob | undefined>
