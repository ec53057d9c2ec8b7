import type { ClipShape, SourceRole } from '#shared/clips.ts'
import type { ImageSize } from '#shared/images.ts'
import type { ProviderJob } from '#shared/jobs.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { EncodePlan } from './encode-plan.ts'
import type { EncodedRequest, ProviderRequest } from './provider-request.ts'

/** The request of each kind of long job, independent of a protocol. */
export type JobAsks = { readonly video: VideoAsk; readonly music: MusicAsk }

/** The source image of a video. Data in its URL may be a placeholder for bytes elsewhere. */
export type ClipSource = {
  /** An https URL or a `data:` URL. */
  readonly url: string
  readonly role: SourceRole
}

/** A request for a video. Its length is one that the model supports. The provider chooses every undefined member. */
export type VideoAsk = ClipShape & {
  readonly prompt: string
  readonly size: ImageSize | undefined
  /** A ratio such as `16:9`. */
  readonly aspectRatio: string | undefined
  readonly sources: readonly ClipSource[]
  /**
   * All other members of the request. Each is forwarded where the provider supports it, and else reported as left out.
   */
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

/** A provider's response to a status request. */
export type JobReply = { readonly status: number; readonly text: string }

/** The data that the writer of a submit needs beside the request. */
export type JobPlan = Pick<EncodePlan, 'offer' | 'target'>

/** Reads and writes a protocol's messages for one kind of long job. */
export type JobCodec<Ask> = {
  /**
   * Throws AppError `model_capability_unsupported` for a parameter that the protocol has no member for and that may not
   * be left out.
   */
  submit(ask: Ask, plan: JobPlan): EncodedRequest
  /** Reads the answer to a submit. Undefined when it names no job. */
  accepted(text: string): ProviderJob | undefined
  /** Writes the status request of a job, by the provider's id. */
  question(providerJob: string): ProviderRequest
  /** Writes the cancellation of a job. Absent where a running job cannot be stopped. */
  cancel?(providerJob: string): ProviderRequest
  /** Reads the response to a status request or a cancellation. Undefined when it does not contain the job's status. */
  read(answer: JobReply, providerJob: string): ProviderJob | undefined
  /**
   * Reads the response to `resultAt`. Undefined when there is no result yet. Absent where the status contains the
   * result.
   */
  readResult?(answer: JobReply, providerJob: string): ProviderJob | undefined
}

/** Sends one request to the provider of a job. Undefined when no response arrived. */
export type SendToJob = (request: ProviderRequest) => Promise<JobReply | undefined>

/**
 * Requests the status of a job, and its result where the protocol returns it separately. Undefined when no readable
 * response arrived; the job's state is then unknown.
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
