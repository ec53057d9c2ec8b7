import type { JobAnswer } from '#control-plane/ports/provider/job-probe.ts'
import type { MarketOffer, UpstreamRequest } from '#data-plane/call.ts'
import type { Destination, UpstreamEvents } from '#data-plane/upstream/send.ts'
import type { ProviderJob } from '#shared/jobs.ts'
import { microUsd, ZERO } from '#shared/money.ts'
import { chargeUsage } from '#shared/pricing.ts'
import type { ModelJob } from '#test/sim/model/model-jobs.ts'
import type { JobFault } from '#test/sim/plan/job-plan.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import { violation } from '#test/sim/time/violation.ts'
import type { Market } from './market.ts'
import { JOB_PATH } from './market.ts'

/** The providers of long jobs. */
export type JobProviders = {
  /** Notes a job. Returns the words by which providers recognise the job. */
  expect(job: ModelJob): string
  /** True when a request is about a long job. */
  isAbout(request: UpstreamRequest): boolean
  /** Takes a request of a process. Returns a function that cancels the request. */
  receive(owner: SimProcess, to: Destination, request: UpstreamRequest, events: UpstreamEvents): () => void
  /** True when a provider here has the job. */
  has(providerJob: string): boolean
  /** The provider's answer to a poll of a worker. The poll at the deadline is the last one. */
  askByWorker(owner: SimProcess, providerJob: string, isLate: boolean): Promise<JobAnswer>
}

/** A job at the provider that accepted it. */
type Taken = { readonly id: string; readonly job: ModelJob; readonly offer: MarketOffer; readonly since: number }

const OF_JOB = /\/requests\/([\w-]+)(\/status|\/cancel)?$/
const MILLISECONDS = 1_000

const STATUS = {
  queued: 'IN_QUEUE',
  running: 'IN_PROGRESS',
  succeeded: 'COMPLETED',
  failed: 'COMPLETED',
  cancelled: 'CANCELED',
} as const

/** Providers that play each job as planned. `wall` is the true time, whatever a machine's clock says. */
export function createJobProviders(market: Market, wall: () => number): JobProviders {
  const expected = new Map<string, ModelJob>()
  const taken = new Map<string, Taken>()
  const over = new Map<string, ProviderJob['state']>()

  function stateOf({ id, job, since }: Taken): ProviderJob['state'] {
    const { plan } = job
    const known = over.get(id)
    if (known !== undefined) return known
    if (plan.ending === 'never' || wall() - since < plan.runMs) return 'running'
    over.set(id, plan.ending)
    return plan.ending
  }

  function accepted({ id }: Taken): object {
    return { request_id: id, response_url: `https://queue.test${JOB_PATH}/requests/${id}` }
  }

  function stated(at: Taken): object {
    const state = stateOf(at)
    return { status: STATUS[state], ...(state === 'failed' && { error: 'no scene' }) }
  }

  function resultOf({ job }: Taken): object {
    const { usedSeconds } = job.plan
    return { video: { url: 'https://files.test/a.mp4', ...(usedSeconds !== undefined && { duration: usedSeconds }) } }
  }

  /** Notes that a provider has the job. From now on the job may have to be paid. */
  function take(words: string, to: Destination): Taken {
    const job = expected.get(words)
    const offer = market.jobOffers.find(({ baseUrl }) => baseUrl === to.baseUrl)
    if (job === undefined || offer === undefined) throw violation('simulation', `no job ${words} at ${to.baseUrl}`)
    const at = { id: `${words.replace(' ', '-')}-${job.askedBps.length}`, job, offer, since: wall() }
    taken.set(at.id, at)
    job.taken.set(`${JOB_PATH}/requests/${at.id}`, {
      isCapped: offer.capDailyMicro !== null,
      sellerAccount: offer.sellerAccount,
      quoteMicro: costOf(job, offer, job.plan.seconds),
      dueMicro: () => dueOf(at, stateOf(at)),
    })
    return at
  }

  function submit(to: Destination, body: string): { job: ModelJob; run: () => object; fault: JobFault | undefined } {
    const words = /job \d+/.exec(body)?.[0] ?? ''
    const job = expected.get(words)
    if (job === undefined) throw violation('simulation', `a provider does not know this request: ${body}`)
    const fault = job.plan.failures[job.askedBps.length]
    noteOrder(
      job,
      market.jobOffers.find(({ baseUrl }) => baseUrl === to.baseUrl),
    )
    return { job, run: () => accepted(take(words, to)), fault }
  }

  function ask(
    id: string,
    what: string | undefined,
  ): { job: ModelJob; run: () => object; fault: JobFault | undefined } {
    const at = taken.get(id)
    if (at === undefined) throw violation('simulation', `a provider has no job ${id}`)
    // The result belongs to the previous poll and arrives without that poll's fault.
    if (what === undefined) return { job: at.job, run: () => resultOf(at), fault: undefined }
    const isCancel = what === '/cancel'
    if (isCancel && at.job.question?.isCancel !== true) {
      throw violation('simulation', `${id} is to be stopped, and its buyer did not ask for that`)
    }
    at.job.heard.push(isCancel ? 'cancel' : 'question')
    const run = () => {
      if (isCancel && stateOf(at) === 'running') over.set(id, 'cancelled')
      return stated(at)
    }
    return { job: at.job, run, fault: at.job.question?.fault }
  }

  return {
    expect(job) {
      const words = `job ${expected.size + 1}`
      expected.set(words, job)
      return words
    },
    isAbout: ({ path }) => path.startsWith(JOB_PATH),
    receive(owner, to, { path, body }, events) {
      const [, id, what] = OF_JOB.exec(path) ?? []
      const { job, run, fault } = id === undefined ? submit(to, body) : ask(id, what)
      let isGivenUp = false
      owner.time.after(job.plan.paceMs, () => {
        if (!isGivenUp) reply(events, fault, run)
      })
      return () => {
        isGivenUp = true
      }
    },
    has: (providerJob) => taken.has(idOf(providerJob)),
    async askByWorker(owner, providerJob, isLate) {
      const id = idOf(providerJob)
      const at = taken.get(id)
      if (at === undefined) throw violation('simulation', `a provider has no job ${id}`)
      const { job } = at
      const { toWorkers, isSilentLate, usedSeconds, workerPaceMs } = job.plan
      await owner.time.sleep(workerPaceMs / 2)
      if (!isLate && toWorkers === 'forgetful') {
        job.isEndedUnasked = true
        return { kind: 'unknown' }
      }
      const state = stateOf(at)
      // A provider that has shown an end to a client shows the same end at the deadline.
      const isSilent = isLate ? isSilentLate && job.asking === 0 && job.end === undefined : toWorkers === 'silent'
      if (isLate && (isSilent || state === 'running')) job.isEndedUnasked = true
      if (isSilent) return { kind: 'silent', status: null, retryAfterMs: undefined }
      const milliseconds = usedSeconds === undefined ? undefined : usedSeconds * MILLISECONDS
      // The provider decides on its answer now, and the worker receives it later.
      await owner.time.sleep(workerPaceMs / 2)
      return { kind: 'reported', job: { id, state, milliseconds, artifacts: [] } }
    },
  }
}

/** The provider's own id within the id that the product uses for the job. */
function idOf(providerJob: string): string {
  return OF_JOB.exec(providerJob)?.[1] ?? ''
}

/**
 * Providers are asked one after the other, the lower-priced first. After a provider that has the job, no other is
 * asked.
 */
function noteOrder({ submit, askedBps, taken }: ModelJob, offer: MarketOffer | undefined): void {
  const before = askedBps.at(-1) ?? 0n
  const kept = offer?.keptBps ?? 0n
  if (kept <= before) throw violation('order', `${submit.rid} goes to ${offer?.id} at ${kept} after one at ${before}`)
  if (taken.size > 0) throw violation('order', `${submit.rid} goes to ${offer?.id} and runs already`)
  askedBps.push(kept)
}

function reply(events: UpstreamEvents, fault: JobFault | undefined, run: () => object): void {
  const breakOff = (code: string) => events.onError(Object.assign(new Error(code), { code }), code !== 'ECONNREFUSED')
  const head = (status: number) =>
    events.onHead({ status, contentType: 'application/json', headers: {}, retryAfterMs: undefined })
  if (fault === 'refused') {
    breakOff('ECONNREFUSED')
    return
  }
  if (fault === 'server_error') {
    head(500)
    events.onData(Buffer.from('{"error":{"message":"not now"}}'))
    events.onEnd()
    return
  }
  const answer = fault === 'malformed' ? '{nothing' : JSON.stringify(run())
  head(200)
  if (fault === 'lost') {
    breakOff('UND_ERR_SOCKET')
    return
  }
  events.onData(Buffer.from(answer))
  events.onEnd()
}

/**
 * The present cost of a job: nothing unless it succeeded, else the price of the produced length, at most of the ordered
 * length.
 */
function dueOf({ job, offer }: Taken, state: ProviderJob['state']): bigint {
  if (state !== 'succeeded') return ZERO
  const { seconds, usedSeconds = seconds } = job.plan
  return costOf(job, offer, Math.min(seconds, usedSeconds))
}

function costOf({ prices }: ModelJob, { keptBps }: MarketOffer, seconds: number): bigint {
  return microUsd(chargeUsage(prices, { milliseconds: seconds * MILLISECONDS, calls: 1 }, keptBps))
}
