import { z } from 'zod'
import type { Artifact, ProviderJob } from '#shared/jobs.ts'
import { isRecord } from '#shared/json-members.ts'
import { parseJson } from '#shared/parse-json.ts'
import { readErrorBody } from '#shared/protocols/answers/error-body.ts'
import type { JobCodec, JobReply, MusicAsk, VideoAsk } from '#shared/protocols/job-codec.ts'
import type { ProviderRequest } from '#shared/protocols/provider-request.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { pathOfModel } from './path.ts'
import { musicInput, videoInput } from './queue-input.ts'

const MAX_URL_CHARS = 2_048
const MAX_ARTIFACTS = 10
const MAX_SANE_SECONDS = 86_400
const MAX_REASON_CHARS = 1_000
const MILLISECONDS = 1_000

/**
 * The path of a job behind the base URL: the model's first two segments, and the job. It is the id of the job in our
 * records.
 */
const JOB_PATH = /^\/[\w.-]{1,100}\/[\w.-]{1,100}\/requests\/[\w-]{1,100}$/
/** The same path at the end of an address. */
const AT_END = /(?:\/[^/?#]+){2}\/requests\/[^/?#]+$/

/** Videos of fal's queue. */
export const falVideos: JobCodec<VideoAsk> = {
  ...queue('video/mp4', ['video', 'videos']),
  submit: (ask, { offer }) => submitTo(offer.providerModel, videoInput(offer.providerModel, ask)),
}

/** Music of fal's queue. */
export const falMusic: JobCodec<MusicAsk> = {
  ...queue('audio/wav', ['audio', 'audio_file', 'audio_url', 'audios']),
  submit: (ask, { offer }) => submitTo(offer.providerModel, musicInput(offer.providerModel, ask)),
}

function submitTo(providerModel: string, { body, leftOut }: ReturnType<typeof videoInput>) {
  return {
    ...JSON_REQUEST,
    path: pathOfModel(providerModel),
    body: JSON.stringify(body),
    adaptedParams: leftOut,
  }
}

/**
 * The queue (docs.fal.ai/model-apis/model-endpoints/queue): the answer to a submission has the status address, the
 * status shows when there is a result, and the result is a separate answer. The result of a failed job is an error.
 */
function queue(contentType: string, members: readonly string[]): Omit<JobCodec<never>, 'submit'> {
  return {
    accepted(text) {
      const read = Accepted.safeParse(parseJson(text))
      return read.success ? { id: read.data.response_url, state: 'queued', ...NOTHING_YET } : undefined
    },
    question: (job) => ({ ...JSON_REQUEST, method: 'GET', path: `${checked(job)}/status`, body: '' }),
    cancel: (job) => ({ ...JSON_REQUEST, method: 'PUT', path: `${checked(job)}/cancel`, body: '' }),
    read: ({ status, text }, job) => readState(status, text, job),
    readResult: (answer, job) => readResult(answer, job, { contentType, members }),
  }
}

const NOTHING_YET = { milliseconds: undefined, artifacts: [] } as const

const Accepted = z.object({
  // Only the path of the address is used: the host is always the offer's own.
  response_url: z
    .string()
    .max(MAX_URL_CHARS)
    .transform((url) => AT_END.exec(url)?.[0] ?? '')
    .pipe(z.string().regex(JOB_PATH)),
})

/** Throws a RangeError for an id that this module did not make, because the id becomes a path. */
function checked(job: string): string {
  if (JOB_PATH.test(job)) return job
  throw new RangeError('no path of a job')
}

const State = z.object({
  status: z.enum([
    'IN_QUEUE',
    'IN_PROGRESS',
    'COMPLETED',
    'FAILED',
    'CANCELED',
    'CANCELLATION_REQUESTED',
    'ALREADY_COMPLETED',
  ]),
  error: z.string().optional().catch(undefined),
})

function readState(status: number, text: string, id: string): ProviderJob | undefined {
  const read = State.safeParse(parseJson(text))
  // A job that cannot be cancelled any more is refused with its state.
  if (!read.success || (status >= 300 && read.data.status !== 'ALREADY_COMPLETED')) return undefined
  const { error } = read.data
  const reason = error === undefined ? {} : { reason: error.slice(0, MAX_REASON_CHARS) }
  switch (read.data.status) {
    case 'IN_QUEUE':
      return { id, state: 'queued', ...NOTHING_YET }
    // A job may have continued after a request to stop it. Only its result shows how it ended.
    case 'CANCELLATION_REQUESTED':
    case 'IN_PROGRESS':
      return { id, state: 'running', ...NOTHING_YET }
    case 'FAILED':
      return { id, state: 'failed', ...NOTHING_YET, ...reason }
    case 'CANCELED':
      return { id, state: 'cancelled', ...NOTHING_YET }
    case 'COMPLETED':
    case 'ALREADY_COMPLETED':
      if (error !== undefined) return { id, state: 'failed', ...NOTHING_YET, ...reason }
      return { id, state: 'running', ...NOTHING_YET, resultAt: resultOf(id) }
  }
}

function resultOf(job: string): ProviderRequest {
  return { ...JSON_REQUEST, method: 'GET', path: checked(job), body: '' }
}

type Reading = { readonly contentType: string; readonly members: readonly string[] }

function readResult({ status, text }: JobReply, id: string, reading: Reading): ProviderJob | undefined {
  // The job was refused, by its input or its content. Other failures are those of the queue itself.
  if (status === 400 || status === 422) {
    const { message } = readErrorBody(text)
    return { id, state: 'failed', ...NOTHING_YET, reason: message.slice(0, MAX_REASON_CHARS) }
  }
  const body = status === 200 ? parseJson(text) : undefined
  if (!isRecord(body)) return undefined
  const files = reading.members.flatMap((name) => [body[name] ?? []].flat())
  const artifacts = files.slice(0, MAX_ARTIFACTS).flatMap((file) => readFile(file, reading.contentType))
  if (artifacts.length === 0) return { id, state: 'failed', ...NOTHING_YET, reason: 'The result holds no file.' }
  const [first] = files
  const seconds = Seconds.safeParse((isRecord(first) ? first['duration'] : undefined) ?? body['duration'])
  const milliseconds = seconds.success ? Math.ceil(seconds.data * MILLISECONDS) : undefined
  return { id, state: 'succeeded', milliseconds, artifacts }
}

const Seconds = z.number().min(0).max(MAX_SANE_SECONDS)
const FileUrl = z
  .string()
  .max(MAX_URL_CHARS)
  .regex(/^https?:\/\/[^\s"<>\\^`{|}]+$/i)

/** A file is an object with its address, or the address alone. The address is open to everyone, for days. */
function readFile(file: unknown, usual: string): Artifact[] {
  const url = FileUrl.safeParse(isRecord(file) ? file['url'] : file)
  if (!url.success) return []
  const declaredType = isRecord(file) ? file['content_type'] : undefined
  const contentType =
    typeof declaredType === 'string' && /^(?:video|audio)\/[\w.+-]{1,64}$/.test(declaredType) ? declaredType : usual
  return [{ url: url.data, contentType, access: 'lasting' }]
}
