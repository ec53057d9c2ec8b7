import { timingSafeEqual } from 'node:crypto'
import type { Receipt, RequestHead } from '#data-plane/call.ts'
import type { Chargeable, PayerIdentity } from '#data-plane/payment.ts'
import type { JobEnd, JobRecord, StoredJob } from '#data-plane/store/jobs.ts'
import type { JobView } from '#data-plane/wires/wire.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { ProviderJob } from '#shared/jobs.ts'
import { chargeJob } from '#shared/jobs.ts'
import { ZERO } from '#shared/money.ts'
import { jobCodecOf } from '#shared/protocols/index.ts'
import { askProvider } from './ask-provider.ts'
import { bookJobEvent } from './book-job-event.ts'
import { recognize } from './entrance.ts'
import { endEvent, termsOf } from './job-event.ts'
import type { JobPlane, JobRoute } from './job-plane.ts'
import { jobIdOf, requestOfJob } from './job-plane.ts'
import { replyHeaders } from './reply-headers.ts'

const SECOND_MS = 1_000

/**
 * Shows the state of a job. Its provider is asked until the job is over. The end is written down once, then captured,
 * and only then shown, so nobody gets a result that is not booked. Throws `job_not_found` for another payer's job and
 * after its binding.
 */
export async function showJob(
  plane: JobPlane,
  route: JobRoute,
  head: RequestHead,
  isCancel: boolean,
): Promise<{ readonly text: string; readonly headers: Readonly<Record<string, string>> }> {
  const { job, view, waitedMs } = await viewJob(plane, route, head, isCancel)
  const spentMs = plane.calls.clock.monotonic() - head.startedAt
  const headers = replyHeaders({
    isStreamed: false,
    standing: undefined,
    attempts: job.attempts.length,
    decisionMs: 0,
    overheadMs: spentMs - waitedMs,
    plan: { offer: job },
    request: undefined,
    receipt: view.receipt,
  })
  return { text: route.wire.shown(view), headers }
}

type Viewed = {
  readonly job: JobRecord
  readonly view: JobView
  /** Milliseconds that the provider took to answer. */
  readonly waitedMs: number
}

async function viewJob(plane: JobPlane, route: JobRoute, head: RequestHead, isCancel: boolean): Promise<Viewed> {
  const { id = '' } = head.params
  const rid = requestOfJob(id)
  const stored = rid === undefined ? undefined : await plane.jobs.find(rid)
  if (rid === undefined || stored === undefined) throw new AppError('job_not_found')
  await checkOwner(plane, route, head, { rid, job: stored.job })
  const { job } = stored
  if (stored.end !== undefined) {
    return { job, view: await showEnd(plane, rid, { ...stored, end: stored.end }), waitedMs: 0 }
  }
  if (plane.calls.clock.now() >= job.createdAt + plane.limits.bindingMs) throw new AppError('job_not_found')
  const askedAt = plane.calls.clock.monotonic()
  const provider = await ask(plane, route, job, isCancel)
  const waitedMs = plane.calls.clock.monotonic() - askedAt
  const state = provider?.state ?? 'running'
  if (provider === undefined || state === 'queued' || state === 'running') {
    return { job, view: { ...headOf(rid, job), state, ...NOT_OVER }, waitedMs }
  }
  const end = await plane.jobs.end(rid, endOf(plane, job, { ...provider, state }))
  return { job, view: await showEnd(plane, rid, { job, end, isBooked: false }), waitedMs }
}

const NOT_OVER = { artifacts: [], receipt: undefined, error: undefined } as const

type Owned = { readonly rid: RequestId; readonly job: JobRecord }

/**
 * Allows the account or wallet that submitted the job, and whoever has its token. Another payer's job does not exist.
 */
async function checkOwner(plane: JobPlane, route: JobRoute, head: RequestHead, { rid, job }: Owned): Promise<void> {
  const token = head.headers['x-job-token']
  if (typeof token === 'string') {
    const [given, expected] = [Buffer.from(token), Buffer.from(plane.tokenOf(jobIdOf(rid)))]
    if (given.length === expected.length && timingSafeEqual(given, expected)) return
    throw new AppError('job_not_found')
  }
  const payment = recognize(route, head)
  if (payment === undefined) throw new AppError('authentication_required')
  const { account, wallet } = await payment.identify()
  if (account === null ? wallet !== job.wallet : account !== job.account) throw new AppError('job_not_found')
}

/** Asks the provider for the state. Answers undefined when nothing readable came back, which does not end the job. */
async function ask(
  { calls, limits }: JobPlane,
  { wire }: JobRoute,
  job: JobRecord,
  isCancel: boolean,
): Promise<ProviderJob | undefined> {
  const codec = jobCodecOf(job, wire.name)
  const question = isCancel ? codec.cancel(job.providerJob) : codec.question(job.providerJob)
  const answer = await askProvider(calls, job, { ...question, adaptedParams: [] }, limits.askMs)
  if (answer.failure === undefined) return codec.read(answer.text)
  calls.log.warn({ rid: job.rid, errorClass: answer.failure.errorClass }, 'the provider of a job gave no answer')
  return undefined
}

type Final = ProviderJob & { readonly state: JobEnd['state'] }

function endOf({ calls }: JobPlane, job: JobRecord, provider: Final): JobEnd {
  const charge = chargeJob(termsOf(job), provider)
  const { state } = provider
  const event = endEvent({ job, state, charge, node: calls.nodeId, now: calls.clock.now() })
  return {
    event: JSON.stringify(event),
    state,
    artifacts: state === 'succeeded' ? [...provider.artifacts] : [],
    error: state === 'failed' ? 'The provider could not finish the job.' : null,
  }
}

type Ended = Omit<StoredJob, 'end'> & { readonly end: JobEnd }

async function showEnd(plane: JobPlane, rid: RequestId, { job, end, isBooked }: Ended): Promise<JobView> {
  if (!isBooked) await bookEnd(plane, rid, job, end)
  const error = end.error === null ? undefined : new AppError('upstream_error', { message: end.error })
  return { ...headOf(rid, job), state: end.state, artifacts: end.artifacts, receipt: receiptOf(end), error }
}

/** Settles the end under an id of its own. A repetition, here or in another process, changes nothing. */
async function bookEnd(plane: JobPlane, rid: RequestId, job: JobRecord, { event }: JobEnd): Promise<void> {
  const rail = plane.rails.get(job.rail)
  if (rail === undefined)
    throw new AppError('internal_error', { cause: new Error(`no rail ${job.rail} ends jobs here`) })
  const end: Chargeable = { ...identityOf(job), rid: `${rid}.end`, rail: job.rail, record: job.payment }
  // The money left the balance at the submit. This settlement only says how it is split.
  await bookJobEvent(plane.calls, end, event, () => rail.settle(end, ZERO, event))
  await plane.jobs.markBooked(rid)
}

/** Throws `internal_error` for a record that names neither an account nor a wallet. */
function identityOf({ account, keyId, wallet }: JobRecord): PayerIdentity {
  if (account !== null && isId('acc', account)) {
    return { account, keyId: keyId !== null && isId('key', keyId) ? keyId : null, wallet }
  }
  if (account === null && wallet !== null) return { account, keyId: null, wallet }
  throw new AppError('internal_error', { cause: new Error('a job nobody pays for') })
}

function receiptOf({ event }: JobEnd): Receipt | undefined {
  const read = readUsageEvent(event)
  // What a job is sold by is its output.
  return read && { chargeMicro: read.chargeMicro, listMicro: read.listMicro, listInputMicro: ZERO, usage: read.usage }
}

function headOf(rid: RequestId, job: JobRecord) {
  return { id: jobIdOf(rid), model: job.model, createdAt: Math.floor(job.createdAt / SECOND_MS) }
}
