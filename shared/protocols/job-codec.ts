import type { ClipShape, SourceRole } from '#shared/clips.ts'
import type { ImageSize } from '#shared/images.ts'
import type { ProviderJob } from '#shared/jobs.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { EncodePlan } from './encode-plan.ts'
import type { EncodedRequest, ProviderRequest } from './provider-request.ts'

/** The request of each kind of long job, independent of a protocol. */
export type JobAsks = { readonly video: VideoAsk; readonly music: MusicAsk }

/** A picture that a film is made from. Data in its URL may be a stand-in for bytes elsewhere. */
export type ClipSource = {
  /** An https URL or a `data:` URL. */
  readonly url: string
  readonly role: SourceRole
}

/** A request for a film. It has the length that its model makes; what else is undefined is left to the provider. */
export type VideoAsk = ClipShape & {
  readonly prompt: string
  readonly size: ImageSize | undefined
  /** `16:9` and the like. */
  readonly aspectRatio: string | undefined
  readonly sources: readonly ClipSource[]
  /** All other members of the request: each goes to a provider that knows it, or is named as left out. */
  readonly extras: JsonObject
}

/** A request for a piece of music. */
export type MusicAsk = {
  readonly prompt: string
  readonly lyrics: string | undefined
  readonly seconds: number | undefined
  readonly extras: JsonObject
}

export type JobKind = keyof JobAsks

const KINDS: Readonly<Record<JobKind, true>> = { video: true, music: true }
export const JOB_KINDS = Object.keys(KINDS) as readonly JobKind[]

export function isJobKind(name: string): name is JobKind {
  return Object.hasOwn(KINDS, name)
}

/** A provider's answer to a question about a job. */
export type JobReply = { readonly status: number; readonly text: string }

/** The data that the writer of a submit needs beside the request. */
export type JobPlan = Pick<EncodePlan, 'offer' | 'target'>

/** The messages of a protocol for one kind of long job. */
export type JobCodec<Ask> = {
  /** Throws AppError `model_capability_unsupported` for what the protocol cannot say and the answer cannot do without. */
  submit(ask: Ask, plan: JobPlan): EncodedRequest
  /** Reads the answer to a submit. Undefined when it names no job. */
  accepted(text: string): ProviderJob | undefined
  /** Asks for the state of a job, by the provider's id. */
  question(providerJob: string): ProviderRequest
  /** Absent where a job that runs cannot be stopped. */
  cancel?(providerJob: string): ProviderRequest
  /** Reads the answer to a question or a cancellation. Undefined when it says nothing about the job. */
  read(answer: JobReply, providerJob: string): ProviderJob | undefined
  /** Reads the answer to `resultAt`. Undefined when there is no result yet. Absent where states hold their results. */
  readResult?(answer: JobReply, providerJob: string): ProviderJob | undefined
}

/** Sends one request to the provider of a job. Undefined when no answer came. */
export type SendToJob = (request: ProviderRequest) => Promise<JobReply | undefined>

/**
 * Asks about a job, and for its result where another answer holds it. Undefined when nothing readable came back, which
 * says nothing about the job.
 */
export async function askAboutJob(
  codec: Pick<JobCodec<unknown>, 'read' | 'readResult'>,
  { providerJob, request }: { readonly providerJob: string; readonly request: ProviderRequest },
  send: SendToJob,
): Promise<ProviderJob | undefined> {
  const answer = await send(request)
  const job = answer && codec.read(answer, providerJob)
  if (job?.resultAt === undefined || codec.readResult === undefined) return job
  const result = await send(job.resultAt)
  return result && codec.readResult(result, providerJob)
}
