import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { errorBody } from './answer.ts'
import { SANDBOX_LAB } from './behaviours.ts'
import { mp4Film } from './media/mp4.ts'
import { wavTone } from './media/sound.ts'
import type { Reply } from './reply.ts'

/** The behaviours of job models, by the suffix of the id. */
const JOB_MODELS = {
  job: 'A long job that ends at the second poll. Its output is a second shorter than requested.',
  'job-failing': 'A long job that fails at the second poll.',
  'job-endless': 'A long job that never ends by itself.',
  'job-overcharging': 'A long job that reports a hundred times the requested usage.',
  'job-unmetered': 'A long job that reports no usage.',
} as const
type JobModel = keyof typeof JOB_MODELS

/** The table for the catalogue entries. */
export const SANDBOX_JOB_ENTRIES = Object.entries(JOB_MODELS).map(([name, description]) => ({
  id: `${SANDBOX_LAB}/${name}`,
  title: `Sandbox: ${name}`,
  description,
}))

/** Models at providers that have a queue. They accept pictures in all parts, and can be cancelled. */
export const SANDBOX_FILM_ENTRIES = [
  {
    id: `${SANDBOX_LAB}/video-job`,
    title: 'Sandbox: video-job',
    description: 'A video from text or images. It ends at the second poll and is a second shorter than requested.',
    makes: 'video',
  },
  {
    id: `${SANDBOX_LAB}/music-job`,
    title: 'Sandbox: music-job',
    description: 'A piece of music. The job ends at the second poll.',
    makes: 'music',
  },
] as const

const MAX_JOBS = 10_000
const OVERCHARGE = 100
/**
 * Suffix of models whose films are a second shorter than ordered. A buyer sees that the charge follows the produced
 * length.
 */
const SHORTENED = 'job'
/** The number of polls after which a job is over. */
const LAST_QUESTION = 2
const USUAL_SECONDS = 4
const USUAL_SIZE = { width: 720, height: 1_280 }

export type SampleJob = {
  readonly id: string
  readonly model: JobModel
  readonly prompt: string
  /** The ordered length and the produced length, in seconds. */
  readonly seconds: number
  readonly made: number
  readonly size: { readonly width: number; readonly height: number }
  readonly isMusic: boolean
  /** The request from which its result is made, and the key that owns it, where a protocol needs them. */
  readonly asked?: RunRequest
  questions: number
  isCancelled: boolean
}

export type RunRequest = { readonly body: unknown; readonly path: string; readonly key: string | undefined }

/** The long jobs of a provider, kept in memory. Each protocol shows them in its own shape. */
export type SampleJobBook = {
  /** Undefined when the request names no model of jobs. */
  submit(
    request: Pick<SampleJob, 'prompt'> &
      Partial<Pick<SampleJob, 'seconds' | 'size' | 'isMusic' | 'asked'>> & { readonly model: string },
  ): SampleJob | undefined
  find(id: string): SampleJob | undefined
}

export function createJobBook(): SampleJobBook {
  const jobs = new Map<string, SampleJob>()
  return {
    submit({ model: name, prompt, seconds = USUAL_SECONDS, size = USUAL_SIZE, isMusic = false, asked }) {
      const model = modelOf(name)
      if (model === undefined) return undefined
      if (jobs.size >= MAX_JOBS) jobs.clear()
      const made = name.endsWith(SHORTENED) && !isMusic ? Math.max(1, seconds - 1) : seconds
      const fresh = { questions: 0, isCancelled: false, ...(asked !== undefined && { asked }) }
      const job = { id: `vid_${randomUUID()}`, model, prompt, seconds, made, size, isMusic, ...fresh }
      jobs.set(job.id, job)
      return job
    },
    find: (id) => jobs.get(id),
  }
}

/** A real model makes a job that succeeds. */
function modelOf(name: string): JobModel | undefined {
  const behaviour = name.slice(name.lastIndexOf('/') + 1)
  if (isJobModel(behaviour)) return behaviour
  const known = Object.keys(JOB_MODELS).find((model) => name.endsWith(model))
  if (known !== undefined && isJobModel(known)) return known
  return name === '' ? undefined : 'job'
}

function isJobModel(name: string): name is JobModel {
  return Object.hasOwn(JOB_MODELS, name)
}

/** Polls a job. */
export function ask(job: SampleJob): SampleJobState {
  job.questions += 1
  return stateOf(job)
}

/** Stops a running job. */
export function cancel(job: SampleJob): SampleJobState {
  if (stateOf(job) === 'running') job.isCancelled = true
  return stateOf(job)
}

export type SampleJobState = 'running' | 'succeeded' | 'failed' | 'cancelled'

export function stateOf({ model, questions, isCancelled }: SampleJob): SampleJobState {
  if (isCancelled) return 'cancelled'
  if (model === 'job-endless' || questions < LAST_QUESTION) return 'running'
  return model === 'job-failing' ? 'failed' : 'succeeded'
}

/** The seconds that it reports. Undefined without a report. */
export function saidSeconds({ model, seconds, made }: SampleJob): number | undefined {
  if (model === 'job-unmetered') return undefined
  return model === 'job-overcharging' ? seconds * OVERCHARGE : made
}

/** The name of its file. */
export function fileNameOf({ id, isMusic }: SampleJob): string {
  return `${id}.${isMusic ? 'wav' : 'mp4'}`
}

/** The file that a job made. */
export function fileOf({ prompt, made: seconds, size, isMusic }: SampleJob): {
  readonly contentType: string
  readonly bytes: Buffer
} {
  if (isMusic) return { contentType: 'audio/wav', bytes: wavTone(seconds) }
  return { contentType: 'video/mp4', bytes: mp4Film(prompt, { ...size, seconds }) }
}

const SubmitSchema = z.looseObject({
  model: z.string(),
  prompt: z.string().min(1),
  seconds: z
    .string()
    .regex(/^[1-9]\d{0,2}$/)
    .transform(Number)
    .optional(),
  size: z
    .string()
    .regex(/^\d{2,4}x\d{2,4}$/)
    .optional(),
})

const PATH = /^\/v1\/videos(?:\/([^/]+)(\/content)?)?$/
const STATUS = { running: 'in_progress', succeeded: 'completed', failed: 'failed', cancelled: 'cancelled' } as const

/** True for `/v1/videos` and the paths below it. */
export function isVideoPath(path: string): boolean {
  return PATH.test(path)
}

export type VideoCall = { readonly method: string; readonly path: string; readonly body: unknown }

/** Answers OpenAI's `/v1/videos` and the paths below it. False for any other path. */
export function serveVideos(book: SampleJobBook, call: VideoCall, reply: Reply): boolean {
  const match = PATH.exec(call.path)
  if (match === null) return false
  const [, id, content] = match
  if (id === undefined) submitVideo(book, call, reply)
  else answerVideo(book.find(id), content !== undefined, reply)
  return true
}

function submitVideo(book: SampleJobBook, { method, body }: Pick<VideoCall, 'method' | 'body'>, reply: Reply): void {
  const submit = SubmitSchema.safeParse(body)
  const job = submit.success && method === 'POST' ? submitAs(book, submit.data) : undefined
  const fault = hasPrompt(body) ? 'The body is not a job.' : "Missing required parameter: 'prompt'."
  if (job === undefined) reply.json(400, errorBody(fault, 'invalid_request_error', null))
  else reply.json(200, { id: job.id, object: 'video', status: 'queued', progress: 0 })
}

const Prompted = z.looseObject({ prompt: z.string().min(1) })

function hasPrompt(body: unknown): boolean {
  return Prompted.safeParse(body).success
}

function submitAs(
  book: SampleJobBook,
  { model, prompt, seconds, size }: z.infer<typeof SubmitSchema>,
): SampleJob | undefined {
  const [width = 0, height = 0] = (size ?? '').split('x').map(Number)
  return book.submit({
    model,
    prompt,
    ...(seconds !== undefined && { seconds }),
    ...(size !== undefined && { size: { width, height } }),
  })
}

function answerVideo(job: SampleJob | undefined, isContent: boolean, reply: Reply): void {
  if (job === undefined) reply.json(404, errorBody('No such job.', 'invalid_request_error', null))
  else if (!isContent) answerVideoState(job, reply)
  else if (stateOf(job) !== 'succeeded') {
    reply.json(404, errorBody('The video is not ready yet.', 'invalid_request_error', null))
  } else {
    const { contentType, bytes } = fileOf(job)
    reply.headers(200, { 'content-type': contentType, 'content-length': String(bytes.length) })
    reply.end(bytes)
  }
}

function answerVideoState(job: SampleJob, reply: Reply): void {
  const state = ask(job)
  const seconds = state === 'succeeded' ? saidSeconds(job) : job.seconds
  reply.json(200, {
    id: job.id,
    object: 'video',
    status: STATUS[state],
    progress: state === 'succeeded' ? 100 : 50,
    ...(seconds !== undefined && { seconds: String(seconds) }),
    ...(state === 'failed' && { error: { code: 'failed', message: 'The scene could not be drawn.' } }),
  })
}
