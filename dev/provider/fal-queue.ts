import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { SampleJob, SampleJobBook } from './jobs.ts'
import { ask, cancel, fileNameOf, fileOf, saidSeconds, stateOf } from './jobs.ts'
import type { Reply } from './reply.ts'

const Seconds = z
  .union([z.number(), z.string().regex(/^\d{1,4}s?$/)])
  .transform((value) => Number.parseInt(String(value), 10))
const Input = z.looseObject({
  prompt: z.string().min(1).optional(),
  tags: z.string().min(1).optional(),
  duration: Seconds.optional(),
  seconds_total: Seconds.optional(),
  resolution: z.string().optional(),
  video_size: z.object({ width: z.number().int().positive(), height: z.number().int().positive() }).optional(),
})
const OF_JOB = /^\/v1\/queue\/([\w.-]+)\/requests\/([\w-]+)(\/status|\/cancel)?$/
const FILE = /^\/v1\/files\/jobs\/([\w-]+)\.(?:mp4|wav)$/
const SIZES: Readonly<Record<string, { readonly width: number; readonly height: number }>> = {
  '1080p': { width: 1_920, height: 1_080 },
  '720p': { width: 1_280, height: 720 },
}
const SMALL = { width: 854, height: 480 }

export type QueueCall = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: unknown
  readonly model: string
  /** Files and jobs are below it. */
  readonly origin: string
}

/** True for a call of the queue: about a job, or a submit to a maker of videos or music. */
export function isQueueCall({ method, path, model }: Pick<QueueCall, 'method' | 'path' | 'model'>): boolean {
  return OF_JOB.test(path) || (method === 'POST' && /job|video|veo|kling|music|audio|song/.test(model))
}

/** Answers fal's queue: a submit, the state, the result and the cancellation of a job. */
export function serveQueue(book: SampleJobBook, call: QueueCall, reply: Reply): void {
  const match = OF_JOB.exec(call.path)
  const [, , id = '', what] = match ?? []
  const job = book.find(id)
  if (match === null) submit(book, call, reply)
  else if (job === undefined) reply.json(404, { detail: 'Request not found' })
  else if (what === '/cancel') answerCancel(job, reply)
  else if (what === '/status') answerState(job, call.origin, reply)
  else answerResult(job, call.origin, reply)
}

function submit(book: SampleJobBook, { body, model, origin }: QueueCall, reply: Reply): void {
  const input = Input.safeParse(body)
  const {
    prompt,
    tags,
    duration,
    seconds_total: total,
    resolution,
    video_size: videoSize,
  } = input.success ? input.data : {}
  const words = prompt ?? tags ?? ''
  const seconds = duration ?? total
  const job = book.submit({
    // A submit without an input fails as soon as the model reads it.
    model: words === '' ? 'job-failing' : model,
    prompt: words,
    ...(seconds !== undefined && { seconds }),
    size: videoSize ?? SIZES[resolution ?? ''] ?? SMALL,
    isMusic: /music|audio|song/.test(model),
  })
  if (job === undefined) {
    reply.json(404, { detail: 'Application not found' })
    return
  }
  answerQueued(job, addressOf(job, origin), reply)
}

/** Responds to a submit with the address of its job. */
export function answerQueued(job: SampleJob, at: string, reply: Reply): void {
  reply.json(200, {
    request_id: job.id,
    status: 'IN_QUEUE',
    queue_position: 0,
    response_url: at,
    status_url: `${at}/status`,
    cancel_url: `${at}/cancel`,
  })
}

function addressOf(job: SampleJob, origin: string): string {
  return `${origin}/queue/${job.model}/requests/${job.id}`
}

function answerState(job: SampleJob, origin: string, reply: Reply): void {
  const status = ask(job) === 'running' ? 'IN_PROGRESS' : 'COMPLETED'
  reply.json(200, { status, request_id: job.id, response_url: addressOf(job, origin) })
}

function answerCancel(job: SampleJob, reply: Reply): void {
  const isOver = stateOf(job) === 'succeeded' || stateOf(job) === 'failed'
  if (!isOver) cancel(job)
  reply.json(isOver ? 400 : 202, { status: isOver ? 'ALREADY_COMPLETED' : 'CANCELLATION_REQUESTED' })
}

function answerResult(job: SampleJob, origin: string, reply: Reply): void {
  const state = stateOf(job)
  if (state === 'running') {
    reply.json(202, { detail: 'Request is still in progress' })
    return
  }
  if (state !== 'succeeded') {
    const words = state === 'failed' ? 'The scene could not be drawn.' : 'The request was cancelled.'
    reply.json(422, { detail: [{ loc: ['body', 'prompt'], msg: words, type: 'value_error' }] })
    return
  }
  const { isMusic } = job
  const contentType = isMusic ? 'audio/wav' : 'video/mp4'
  const url = `${origin}/files/jobs/${fileNameOf(job)}`
  const duration = saidSeconds(job)
  const file = { url, content_type: contentType, ...(duration !== undefined && { duration }) }
  reply.json(200, isMusic ? { audio: file } : { video: file })
}

/** The public file of a job. Undefined for any other path. */
export function jobFile(book: SampleJobBook, path: string): ReturnType<typeof fileOf> | undefined {
  const job = book.find(FILE.exec(path)?.[1] ?? '')
  return job !== undefined && stateOf(job) === 'succeeded' ? fileOf(job) : undefined
}
