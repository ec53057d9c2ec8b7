import type { ProviderJob } from '#shared/jobs.ts'
import type { ProviderRequest } from './provider-request.ts'

/** The request of each kind of long job, independent of a protocol. */
export type JobAsks = { readonly video: VideoAsk }

export type VideoAsk = { readonly prompt: string; readonly seconds: number }

export type JobKind = keyof JobAsks

const JOB_KINDS: Readonly<Record<JobKind, true>> = { video: true }

export function isJobKind(name: string): name is JobKind {
  return Object.hasOwn(JOB_KINDS, name)
}

/** One protocol's messages for one kind of long job. */
export type JobCodec<Ask> = {
  submit(providerModel: string, ask: Ask): ProviderRequest
  /** Asks for the state of a job, by the provider's id. */
  question(providerJob: string): ProviderRequest
  cancel(providerJob: string): ProviderRequest
  /** Reads the answer to any of these. Undefined when it is none. */
  read(text: string): ProviderJob | undefined
}
