import { timingSafeEqual } from 'node:crypto'
import type { RequestHead } from '#data-plane/call.ts'
import type { Chargeable, PayerIdentity } from '#data-plane/payment.ts'
import type { ProviderAnswer } from '#data-plane/pipeline/attempt/ask-provider.ts'
import { askProvider } from '#data-plane/pipeline/attempt/ask-provider.ts'
import type { CallPlane } from '#data-plane/pipeline/call-plane.ts'
import { captureJobEvent } from '#data-plane/pipeline/capture-job-event.ts'
import { recognize } from '#data-plane/pipeline/entrance.ts'
import { replyHeaders } from '#data-plane/pipeline/reply-headers.ts'
import type { JobEnd, JobRecord, StoredJob } from '#data-plane/store/jobs.ts'
import { recordsMissing } from '#data-plane/store/jobs.ts'
import { readProviderWords } from '#data-plane/upstream/provider-words.ts'
import type { JobView } from '#data-plane/wires/wire.ts'
import { endAsBooked, endAsFound, JOB_FAILURES } from '#shared/contract/job-end.ts'
import type { AskableJob } from '#shared/contract/job-record.ts'
import { isAskable, isHidden } from '#shared/contract/job-record.ts'
import { AppError } from '#shared/errors.ts'
import type { JobId, RequestId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { EndedJob, ProviderJob } from '#shared/jobs.ts'
import { chargeJob, endedAs, isOver } from '#shared/jobs.ts'
import { ZERO } from '#shared/money.ts'
import { jobCodecOf } from '#shared/protocols/index.ts'
import { askAboutJob } from '#shared/protocols/job-codec.ts'
import type { ProviderRequest } from '#shared/protocols/provider-request.ts'
import { endEvent, termsOf } from './job-event.ts'
import type { JobPlane, JobRoute } from './job-plane.ts'
import { jobIdOf, requestOfJob } from './job-plane.ts'
import { endedView, openView } from './job-view.ts'

/**
 * Shows the state of a job. Its provider is polled until the job is over. The end is stored once, then captured, and
 * only then shown, so no result is shown that is not booked. Throws `job_not_found` for another payer's job and after
 * its binding, and `service_unavailable` for a job whose record Redis may have lost.
 */
export async function showJob(
  plane: JobPlane,
  route: JobRoute,
  head: RequestHead,
  isCancel: boolean,
): Promise<{ readonly text: string; readonly headers: Readonly<Record<string, string>> }> {
  const { job, view, waitedMs } = await viewJob(plane, route, head, isCancel)
  if (isCancel && route.wire.deletesEnded === true && view.endedAt !== undefined) await deleteJob(plane, view.id)
  const spentMs = plane.calls.clock.monotonic() - head.startedAt
  const { shown, cancelled } = route.wire
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
  return { text: isCancel ? cancelled(view) : shown(view), headers }
}

/**
 * Hides a job that is over, and removes the copies of its files. A copy under way removes itself; see
 * keep-job-files.ts.
 */
async function deleteJob({ jobs, files }: JobPlane, id: JobId): Promise<void> {
  const rid = requestOfJob(id)
  if (rid === undefined) return
  await jobs.markDeleted(rid)
  await files.remove(rid)
}

/**
 * The address of the first file of a job. Throws `not_found` while there is none, and the errors of {@link showJob}.
 */
export async function findFile(plane: JobPlane, route: JobRoute, head: RequestHead): Promise<string> {
  const { view } = await viewJob(plane, route, head, false)
  const [file] = view.artifacts
  if (file !== undefined) return file.url
  throw new AppError('not_found', {
    message: `The job has no file: it is ${view.state}.`,
    detail: { status: view.state },
  })
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
  // A caller without access gets the same answer for a job that exists and for one that does not.
  const asker = await readAsker(route, head)
  const storedJob = rid === undefined ? undefined : await plane.jobs.find(rid)
  // A job has one kind, on every path.
  if (rid === undefined || storedJob?.job.wire !== route.wire.name || isHidden(storedJob))
    throw new AppError('job_not_found')
  checkOwner(plane, asker, { rid, job: storedJob.job })
  const { job, lostEnd } = storedJob
  if (storedJob.end !== undefined) {
    const view = await showEnd(plane, rid, { ...storedJob, end: storedJob.end })
    return { job, view, waitedMs: 0 }
  }
  if (lostEnd !== undefined) return viewLostEnd(plane, route, { rid, storedJob, lostEnd })
  if (plane.calls.clock.now() >= job.createdAt + plane.limits.bindingMs) throw new AppError('job_not_found')
  if (!isAskable(job)) return viewKeyless(plane, rid, job, isCancel)
  const askedAt = plane.calls.clock.monotonic()
  // A job that cannot be stopped ends as its provider reports.
  const canStop = isCancel && jobCodecOf(job, route.wire.name).cancel !== undefined
  if (canStop && !storedJob.isStopped) await plane.jobs.markStopped(rid)
  const provider = await ask(plane, route, job, isCancel)
  const waitedMs = plane.calls.clock.monotonic() - askedAt
  const isStopped = canStop || storedJob.isStopped
  const over = provider !== undefined && isOver(provider) ? endedAs(provider, isStopped) : undefined
  if (over === undefined) {
    if (provider !== undefined) plane.jobs.noteAsked(rid, plane.calls.clock.now())
    const { state = 'running', progress } = provider ?? {}
    return { job, view: openView(plane, rid, job, { state, progress }), waitedMs }
  }
  const end = await plane.jobs.end(rid, endOf(plane, job, over))
  return { job, view: await showEnd(plane, rid, { ...storedJob, end, isBooked: false }), waitedMs }
}

/** The view of a job that cannot be polled, until a worker ends it. Throws `conflict` for a cancellation. */
function viewKeyless(plane: JobPlane, rid: RequestId, job: JobRecord, isCancel: boolean): Viewed {
  if (isCancel) {
    const message =
      'The key that started this job is gone, so the job cannot be stopped. The job ends soon and costs nothing.'
    throw new AppError('conflict', { message })
  }
  return { job, view: openView(plane, rid, job, { state: 'running', progress: undefined }), waitedMs: 0 }
}

type LostEnd = { readonly rid: RequestId; readonly storedJob: StoredJob; readonly lostEnd: string }

/**
 * Shows a job that is over and whose result Redis has lost: its provider is asked for the result again. The bill stays
 * as booked. Throws {@link recordsMissing} until its provider answers.
 */
async function viewLostEnd(plane: JobPlane, route: JobRoute, { rid, storedJob, lostEnd }: LostEnd): Promise<Viewed> {
  const { job } = storedJob
  const { clock } = plane.calls
  const askedAt = clock.monotonic()
  const provider = isAskable(job) ? await ask(plane, route, job, false) : undefined
  const waitedMs = clock.monotonic() - askedAt
  const knownEnd = isAskable(job) ? provider && endAsFound(lostEnd, provider) : endAsBooked(lostEnd)
  if (knownEnd === undefined) throw recordsMissing()
  const end = await plane.jobs.end(rid, knownEnd)
  return { job, view: await showEnd(plane, rid, { ...storedJob, end }), waitedMs }
}

type Owned = { readonly rid: RequestId; readonly job: JobRecord }

/** The caller of a look-up of a job: the holder of a token, or a payer. */
type Asker = { readonly token: string } | PayerIdentity

/** Throws `authentication_required` without a credential, and the refusals of its rail. */
async function readAsker(route: JobRoute, head: RequestHead): Promise<Asker> {
  const token = head.headers['x-job-token']
  if (typeof token === 'string') return { token }
  const payment = recognize(route, head)
  if (payment === undefined) throw new AppError('authentication_required')
  return payment.identify()
}

/**
 * Admits the account or wallet that submitted the job, and the holder of its token. For any other caller the job does
 * not exist.
 */
function checkOwner(plane: JobPlane, asker: Asker, { rid, job }: Owned): void {
  if ('token' in asker) {
    const [tokenBytes, expectedBytes] = [Buffer.from(asker.token), Buffer.from(plane.tokenOf(jobIdOf(rid)))]
    if (tokenBytes.length === expectedBytes.length && timingSafeEqual(tokenBytes, expectedBytes)) return
    throw new AppError('job_not_found')
  }
  const { account, wallet } = asker
  if (account === null ? wallet !== job.wallet : account !== job.account) throw new AppError('job_not_found')
}

/**
 * Polls the provider for the state. Returns undefined without a readable answer, which does not end the job. Throws
 * `conflict` for a cancellation in a protocol that cannot cancel.
 */
async function ask(
  { calls, limits }: JobPlane,
  { wire }: JobRoute,
  job: AskableJob,
  isCancel: boolean,
): Promise<ProviderJob | undefined> {
  const codec = jobCodecOf(job, wire.name)
  const { providerJob } = job
  let unread: Pick<ProviderAnswer, 'status' | 'failure'> | undefined
  const send = async (request: ProviderRequest) => {
    const answer = await askProvider(calls, job, { ...request, adaptedParams: [] }, limits.askMs)
    unread = answer
    return answer.status === 0 ? undefined : answer
  }
  const about = async (request: ProviderRequest) => {
    const aboutJob = await askAboutJob(codec, { providerJob, request }, send)
    // A refusal may be an answer: the job was stopped, or does not exist.
    if (aboutJob === undefined && unread?.failure !== undefined) {
      const { status, failure } = unread
      calls.log.warn(
        { rid: job.rid, status, errorClass: failure.errorClass },
        'the provider of a job returned no status',
      )
    }
    return aboutJob
  }
  if (!isCancel) return about(codec.question(providerJob))
  if (codec.cancel !== undefined) {
    const status = await about(codec.cancel(providerJob))
    // Some providers only promise to stop it. The state then shows whether it has stopped.
    return status !== undefined && isOver(status) ? status : ((await about(codec.question(providerJob))) ?? status)
  }
  const status = await about(codec.question(providerJob))
  if (status !== undefined && isOver(status)) return status
  throw new AppError('conflict', { message: 'The provider cannot stop this job. Wait until it ends.' })
}

function endOf({ calls }: JobPlane, job: AskableJob, provider: EndedJob): JobEnd {
  const charge = chargeJob(termsOf(job), provider)
  const { state } = provider
  const endedAt = calls.clock.now()
  const errorCode = state === 'failed' ? 'upstream_error' : null
  return {
    event: endEvent(job, { outcome: state, errorCode, charge, node: calls.site.nodeId, now: endedAt }),
    state,
    artifacts: state === 'succeeded' ? [...provider.artifacts] : [],
    error: state === 'failed' ? failureWords(calls, job, provider) : null,
    endedAt,
  }
}

/** The reason why a job failed, as far as its provider's text may leave this process. */
function failureWords({ upstream }: Pick<CallPlane, 'upstream'>, job: AskableJob, { reason }: ProviderJob): string {
  if (reason === undefined) return FAILED
  const { forBuyer } = readProviderWords(
    { message: reason },
    { holdsKey: (text) => upstream.holdsKey(job, text), requestText: () => '' },
  )
  return forBuyer === '' ? FAILED : `${FAILED.slice(0, -1)}: ${forBuyer}`
}

const FAILED = JOB_FAILURES.failed

type Ended = Omit<StoredJob, 'end'> & { readonly end: JobEnd }

async function showEnd(plane: JobPlane, rid: RequestId, { job, end, isBooked }: Ended): Promise<JobView> {
  if (!isBooked) await bookEnd(plane, rid, job, end)
  return endedView(plane, rid, { job, end, artifacts: plane.files.show({ job, end }, rid) })
}

/** Settles the end under an id of its own. A repeat, here or in another process, changes nothing. */
async function bookEnd(plane: JobPlane, rid: RequestId, job: JobRecord, { event }: JobEnd): Promise<void> {
  const rail = plane.rails.get(job.rail)
  if (rail === undefined)
    throw new AppError('internal_error', { cause: new Error(`no rail ${job.rail} ends jobs here`) })
  const end: Chargeable = { ...identityOf(job), rid: `${rid}.end`, rail: job.rail, record: job.payment }
  // The money left the balance at the submit. This settlement only splits it.
  await captureJobEvent(plane.calls.money, end, event, () => rail.settle(end, ZERO, event))
  await plane.jobs.markBooked(rid)
}

/** Throws `internal_error` for a record that names neither an account nor a wallet. */
function identityOf({ account, keyId, wallet }: JobRecord): PayerIdentity {
  if (account !== null && isId('acc', account)) {
    return { account, keyId: keyId !== null && isId('key', keyId) ? keyId : null, wallet }
  }
  if (account === null && wallet !== null) return { account, keyId: null, wallet }
  throw new AppError('internal_error', { cause: new Error('a job without a payer') })
}
