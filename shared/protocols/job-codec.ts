import type { ProviderJob } from '#shared/jobs.ts'
import type { ProviderRequest } from './provider-request.ts'

/** What each kind of long job is asked for with, in no protocol's words. */
export type JobAsks = { readonly video: VideoAsk }

export type VideoAsk = { readonly prompt: string; readonly seconds: number }

export type JobKind = keyof JobAsks

const JOB_KINDS: Readonly<Record<JobKind, true>> = { video: true }

export function isJobKind(name: string): name is JobKind {
  return Object.hasOwn(JOB_KINDS, name)
}

/** How a protocol speaks of one kind of long job. */
export type JobCodec<Ask> = {
  submit(providerModel: string, ask: Ask): ProviderRequest
  /** Asks how a job stands, by the id that the provider gave it. */
  question(providerJob: string): ProviderRequest
  cancel(providerJob: string): ProviderRequest
  /** The answer to any of these; undefined when it is none. */
  read(text: string): ProviderJob | undefined
}
