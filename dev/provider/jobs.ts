import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { errorBody } from './answer.ts'
import { SANDBOX_LAB } from './behaviours.ts'
import type { Reply } from './reply.ts'

/** The behaviours of job models, by the end of the id. */
const JOB_MODELS = {
  job: 'A long job that is over at the second question.',
  'job-failing': 'A long job that fails at the second question.',
  'job-endless': 'A long job that never ends by itself.',
  'job-overcharging': 'A long job that reports a hundred times what was asked for.',
  'job-unmetered': 'A long job that reports no usage.',
} as const
type JobModel = keyof typeof JOB_MODELS

/** The table as catalogue entries are made from it. */
export const SANDBOX_JOB_ENTRIES = Object.entries(JOB_MODELS).map(([name, description]) => ({
  id: `${SANDBOX_LAB}/${name}`,
  title: `Sandbox: ${name}`,
  description,
}))

const MAX_JOBS = 10_000
const OVERCHARGE = 100
/** The number of questions after which a job is over. */
const LAST_QUESTION = 2

const SubmitSchema = z.looseObject({ model: z.string(), prompt: z.string(), seconds: z.number().positive() })

type Job = {
  readonly id: string
  readonly model: JobModel
  readonly seconds: number
  questions: number
  isCancelled: boolean
}

/** The long jobs of a provider, kept in memory. */
export type JobBook = {
  /** Answers `/v1/video/generations` and the paths below it. False for any other path. */
  serve(method: string, path: string, body: unknown, reply: Reply): boolean
}

export function createJobBook(): JobBook {
  const jobs = new Map<string, Job>()
  return {
    serve(method, path, body, reply) {
      const match = /^\/v1\/video\/generations(?:\/([^/]+))?$/.exec(path)
      if (!match) return false
      const [, id] = match
      if (id === undefined) submit(jobs, method, body, reply)
      else answer(jobs.get(id), method, reply)
      return true
    },
  }
}

function submit(jobs: Map<string, Job>, method: string, body: unknown, reply: Reply): void {
  const wish = SubmitSchema.safeParse(body)
  const model = wish.success ? modelOf(wish.data.model) : undefined
  if (method !== 'POST' || !wish.success || model === undefined) {
    reply.json(400, errorBody('The body is not a job.', 'invalid_request_error', null))
    return
  }
  if (jobs.size >= MAX_JOBS) jobs.clear()
  const job: Job = { id: `vid_${randomUUID()}`, model, seconds: wish.data.seconds, questions: 0, isCancelled: false }
  jobs.set(job.id, job)
  reply.json(202, { id: job.id, status: 'queued' })
}

/** The behaviour at the end of a model's name. */
function modelOf(name: string): JobModel | undefined {
  return Object.keys(JOB_MODELS)
    .filter(isJobModel)
    .find((model) => name.endsWith(model))
}

function isJobModel(name: string): name is JobModel {
  return Object.hasOwn(JOB_MODELS, name)
}

function answer(job: Job | undefined, method: string, reply: Reply): void {
  if (job === undefined) {
    reply.json(404, errorBody('No such job.', 'invalid_request_error', null))
    return
  }
  const isOver = job.questions >= LAST_QUESTION && job.model !== 'job-endless'
  if (method === 'DELETE' && !isOver) job.isCancelled = true
  else job.questions += 1
  reply.json(200, { id: job.id, ...stateOf(job) })
}

function stateOf({ id, model, seconds, questions, isCancelled }: Job): object {
  if (isCancelled) return { status: 'cancelled' }
  if (model === 'job-endless' || questions < LAST_QUESTION) return { status: 'running' }
  if (model === 'job-failing') return { status: 'failed', error: { message: 'The scene could not be drawn.' } }
  const artifacts = [{ url: `https://artifacts.invalid/${id}.mp4`, content_type: 'video/mp4' }]
  if (model === 'job-unmetered') return { status: 'succeeded', artifacts }
  const used = model === 'job-overcharging' ? seconds * OVERCHARGE : seconds - 1
  return { status: 'succeeded', artifacts, usage: { seconds: used } }
}
