import { z } from 'zod'
import { answerQueued } from '#dev/provider/fal-queue.ts'
import type { RunRequest, SampleJob } from '#dev/provider/jobs.ts'
import { ask, cancel, fileNameOf, stateOf } from '#dev/provider/jobs.ts'
import type { Reply } from '#dev/provider/reply.ts'
import type { AccountCall } from './account-call.ts'
import { pictureUrl } from './account-call.ts'

const KEY = /^Key /
const GOOD_KEY = /^Key (?!sk-bad)\S+$/
const MODEL = /^\/((?:[\w.-]+\/)*[\w.-]+)$/
const OF_JOB = /^\/((?:[\w.-]+\/)*[\w.-]+)\/requests\/([\w-]+)(\/status|\/cancel)?$/
/** Sides of the named sizes. */
const SIZES: Readonly<Record<string, readonly [width: number, height: number]>> = {
  square_hd: [1_024, 1_024],
  square: [512, 512],
  portrait_4_3: [768, 1_024],
  portrait_16_9: [576, 1_024],
  landscape_4_3: [1_024, 768],
  landscape_16_9: [1_024, 576],
}
const Side = z.number().int().min(1).max(4_096)
const Run = z.looseObject({
  prompt: z.string().min(1),
  num_images: z.number().int().min(1).max(8).default(1),
  image_size: z.union([z.enum(Object.keys(SIZES)), z.object({ width: Side, height: Side })]).default('landscape_4_3'),
  duration: z
    .union([z.number(), z.string().regex(/^\d{1,3}$/)])
    .transform(Number)
    .default(5),
})

/** True for a call of provider-h: its keys have a scheme of their own, and its paths are not those of `/v1`. */
export function isProviderHCall({ path, headers }: Pick<AccountCall, 'path' | 'headers'>): boolean {
  return KEY.test(headers.authorization ?? '') && !path.startsWith('/v1/')
}

/** Provider H: models that run at once on one host, and through a queue on the other. */
export function serveProviderH(call: AccountCall, reply: Reply): void {
  const { method, path, headers, isQueue } = call
  if (!GOOD_KEY.test(headers.authorization ?? '')) reply.json(401, { detail: 'Cannot access application.' })
  else if (method === 'GET' && path === '/account') reply.json(200, { tier: '2', region: 'eu' })
  else if (isQueue && OF_JOB.test(path)) serveJob(call, reply)
  else if (method !== 'POST' || !MODEL.test(path)) reply.json(404, { detail: 'Not Found' })
  else if (isQueue) submit(call, reply)
  else run(call, reply)
}

function run({ body, path, origin }: AccountCall, reply: Reply): void {
  const run = Run.safeParse(body)
  if (run.success) reply.json(200, resultOf(run.data, path, { origin, film: undefined }))
  else reply.json(422, { detail: run.error.issues.map(({ path: loc, message }) => ({ loc, msg: message })) })
}

function submit({ body, path, headers, jobs, origin }: AccountCall, reply: Reply): void {
  const run = Run.safeParse(body)
  // A run without a prompt fails as soon as the model reads it.
  const model = run.success ? 'job' : 'job-failing'
  const [prompt, seconds] = run.success ? [run.data.prompt, run.data.duration] : ['', 1]
  const callFacts = { body, path, key: headers.authorization }
  const job = jobs.submit({ model, prompt, seconds, size: { width: 854, height: 480 }, asked: callFacts })
  if (job === undefined) {
    reply.json(404, { detail: 'Application not found' })
    return
  }
  answerQueued(job, `${new URL(origin).origin}${path}/requests/${job.id}`, reply)
}

function serveJob({ method, path, headers, jobs, origin }: AccountCall, reply: Reply): void {
  const [, , id = '', what] = OF_JOB.exec(path) ?? []
  const job = jobs.find(id)
  if (job?.asked === undefined || job.asked.key !== headers.authorization) {
    reply.json(404, { detail: 'Request not found' })
  } else if (what === '/cancel') {
    const isOver = stateOf(job) !== 'running'
    if (method === 'PUT' && !isOver) cancel(job)
    reply.json(isOver ? 400 : 202, { status: isOver ? 'ALREADY_COMPLETED' : 'CANCELLATION_REQUESTED' })
  } else if (what === '/status') {
    const isRunning = ask(job) === 'running'
    reply.json(isRunning ? 202 : 200, { status: isRunning ? 'IN_PROGRESS' : 'COMPLETED', request_id: id })
  } else answerResult(job, job.asked, { origin, reply })
}

type Showing = { readonly origin: string; readonly reply: Reply }

function answerResult(job: SampleJob, { body, path }: RunRequest, { origin, reply }: Showing): void {
  const state = stateOf(job)
  const run = Run.safeParse(body)
  if (state === 'running') reply.json(400, { detail: 'Request is still in progress' })
  else if (state !== 'succeeded' || !run.success) reply.json(422, { detail: 'The run has no result.' })
  else reply.json(200, resultOf(run.data, path, { origin, film: `${origin}/files/jobs/${fileNameOf(job)}` }))
}

type Made = { readonly origin: string; readonly film: string | undefined }

function resultOf(run: z.infer<typeof Run>, path: string, { origin, film }: Made): object {
  if (path.endsWith('/motion') && film !== undefined) return { video: { url: film, content_type: 'video/mp4' } }
  const { prompt, num_images: count, image_size: size } = run
  const [width, height] = typeof size === 'string' ? (SIZES[size] ?? [512, 512]) : [size.width, size.height]
  const images = Array.from({ length: count }, (_, index) => ({
    url: pictureUrl(origin, `${prompt} ${index}`, { width, height }),
    width,
    height,
    content_type: 'image/png',
  }))
  return { images, seed: 42, prompt }
}
