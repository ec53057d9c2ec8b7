import type { Job } from '#control-plane/db/jobs.ts'
import type { JobAnswer } from '#control-plane/ports/provider/job-probe.ts'
import { SILENT } from '#control-plane/ports/provider/job-probe.ts'
import type { AskLent, LentReply } from '#control-plane/ports/provider/probe.ts'
import { routeOfJob } from '#shared/catalog/resources.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import type { JobState } from '#shared/jobs.ts'
import type { CompiledResource, Route } from '#shared/resources/compile-resource.ts'
import type { GivenAnswer } from '#shared/resources/quote-resource.ts'
import { reportedUnits, stateOf } from '#shared/resources/quote-resource.ts'
import { fillPath } from '#shared/rules/path-pattern.ts'
import type { Secret } from '#shared/secret.ts'
import type { Usage } from '#shared/usage.ts'

/** A forwarded job: its submit, the record that priced it, and the lent key that started it. */
export type LentJob = {
  readonly providerJob: Job['providerJob']
  readonly submit: UsageEvent
  readonly record: CompiledResource
  readonly apiKey: Secret
}

type Ports = { readonly askLent: AskLent }

const ACCEPTED = 202
/** Status codes of a result request that mean that the result will never exist. */
const NO_RESULT: ReadonlySet<number> = new Set([400, 422])

/** True when the record has a call that stops the job. */
export function canStop({ record, submit }: LentJob): boolean {
  return routeFor(record, submit, 'cancel') !== undefined
}

/**
 * Polls a forwarded job by the rules of its record: its state, and once it is done the usage that its result reports. A
 * result that no rule reads is not loaded, because it may be a long video.
 */
export async function askLentJob(ports: Ports, job: LentJob, isCancel: boolean): Promise<JobAnswer> {
  const { record, submit } = job
  const stop = isCancel ? routeFor(record, submit, 'cancel') : undefined
  if (stop !== undefined) await send(ports, job, stop)
  const status = routeFor(record, submit, 'status')
  const lentReply = status && (await send(ports, job, status))
  if (status === undefined || lentReply === undefined) return SILENT
  if (lentReply.status === 404 || lentReply.status === 410) return { kind: 'unknown' }
  if (!isGood(lentReply)) return silent(lentReply)
  const state = stateOf(status, givenOf(lentReply))
  if (state === 'failed') return jobAnswer(job, 'failed')
  return state === 'done' ? askForResult(ports, job) : jobAnswer(job, 'running')
}

async function askForResult(ports: Ports, job: LentJob): Promise<JobAnswer> {
  const { record, submit } = job
  const { bound = {} } = submit.job ?? {}
  const route = routeFor(record, submit, 'result')
  if (route === undefined || (route.reported.length === 0 && route.state === undefined)) {
    return jobAnswer(job, 'succeeded', bound)
  }
  const lentReply = await send(ports, job, route)
  if (lentReply === undefined) return SILENT
  if (NO_RESULT.has(lentReply.status)) return jobAnswer(job, 'failed')
  if (!isGood(lentReply) || lentReply.status === ACCEPTED) return silent(lentReply)
  const givenAnswer = givenOf(lentReply)
  if (stateOf(route, givenAnswer) === 'failed') return jobAnswer(job, 'failed')
  const good = record.goods.get(submit.sold?.good ?? '')
  const usage = good && reportedUnits({ route, captures: capturesOf(job) }, good, bound, givenAnswer)
  return jobAnswer(job, 'succeeded', usage ?? bound)
}

function routeFor({ record, routes }: CompiledResource, { sold }: UsageEvent, kind: 'status' | 'result' | 'cancel') {
  const submit = record.routes.find(({ id }) => id === sold?.route)
  const route = submit && routeOfJob(record.routes, submit, kind)
  return routes.find(({ id }) => id === route?.id)
}

async function send({ askLent }: Ports, job: LentJob, route: Route): Promise<LentReply | undefined> {
  const { hosts, record } = job.record
  const host = hosts.get(route.host)
  const path = fillPath(route.forwardTo, capturesOf(job))
  const [first = 'GET'] = route.methods
  const method = route.kind === 'cancel' ? first : 'GET'
  if (host === undefined || path === undefined) return undefined
  return askLent({ url: new URL(host.baseUrl + path), method, ...record.credential, apiKey: job.apiKey })
}

function capturesOf({ submit, providerJob }: LentJob): Readonly<Record<string, string>> {
  return { ...submit.job?.captures, job: providerJob }
}

function isGood({ status }: LentReply): boolean {
  return status >= 200 && status < 300
}

function silent({ status, retryAfterMs }: LentReply): JobAnswer {
  return { kind: 'silent', status, retryAfterMs }
}

function jobAnswer({ providerJob: id }: LentJob, state: JobState, usage?: Usage): JobAnswer {
  return {
    kind: 'reported',
    job: { id, state, milliseconds: undefined, artifacts: [], ...(usage !== undefined && { used: usage }) },
  }
}

function givenOf({ headers, body }: LentReply): GivenAnswer {
  try {
    return { headers, answer: body === undefined ? undefined : JSON.parse(body) }
  } catch {
    return { headers, answer: undefined }
  }
}
