import type { JobWord, MarketOffer, Receipt, StartedJob } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { JobQuestion } from '#data-plane/wires/wire.ts'
import { writeJobEnd } from '#shared/contract/job-end.ts'
import type { JobEnd } from '#shared/contract/job-record.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import { jobEndId, readUsageEvent } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { JobCharge } from '#shared/jobs.ts'
import { chargeWork, NO_CHARGE } from '#shared/jobs.ts'
import { keptBps, ZERO } from '#shared/money.ts'
import { writeUnitPrices } from '#shared/pricing.ts'
import { reportedUnits } from '#shared/resources/quote-resource.ts'
import type { CallJobs, CallMoney, CallPlane } from './call-plane.ts'
import { captureJobEvent } from './capture-job-event.ts'
import { subjectOf } from './event-subject.ts'
import type { AdmittedCall, JobInquiry, Relay, UsageEventText } from './stages.ts'

/**
 * Finds the job of a request. It belongs to the buyer who started it, and every request about it goes to the key that
 * started it. Throws `job_not_found` for another buyer's job and after the binding, `gone` once its key is destroyed,
 * and `service_unavailable` while Redis may have lost it.
 */
export async function findAskedJob(plane: CallPlane, question: JobQuestion, payer: Payer): Promise<JobInquiry> {
  const { resource, id } = question
  const job = await plane.jobs.forwarded.find(resource, id)
  if (job === undefined || job.binding.buyer !== (payer.account ?? payer.wallet)) throw new AppError('job_not_found')
  if (plane.clock.now() >= job.binding.boundAt + plane.jobs.bindingMs) throw new AppError('job_not_found')
  const { offer: id_, credentialId } = job.binding
  const { lentBooks, retiredOffers } = plane.market()
  // A key that has left the market still serves the jobs that it started.
  const offer = lentBooks.get(resource)?.ranked.find(({ id: each }) => each === id_) ?? retiredOffers.get(id_)
  if (offer === undefined || offer.credential.id !== credentialId) {
    throw new AppError('gone', {
      message: `The lender has destroyed the key that started the job. GET /v1/requests/${job.binding.rid} has its bill.`,
    })
  }
  return { question, job, offer }
}

/**
 * Makes the submit of a job from the event of its call: the whole quote leaves the balance, and no seller is paid yet.
 */
export function asSubmit(
  { deadlineMs }: CallJobs,
  call: AdmittedCall,
  event: UsageEventText,
  { id: providerJob, captures }: StartedJob,
): UsageEventText {
  const { target, demand, raw } = call
  const { chargeMicro: quote } = event
  return {
    ...event,
    kind: 'submit',
    job: {
      deadlineAt: raw.receivedAt + deadlineMs,
      providerJob,
      unitPrices: writeUnitPrices(target.price.unitPrices),
      bound: { ...demand.bounds.units?.most },
      captures: { ...captures },
    },
    outcome: 'succeeded',
    errorCode: null,
    usage: {},
    usageSource: 'reported',
    anomalies: [],
    holdMicro: quote,
    chargeMicro: quote,
    listMicro: quote,
    sellerNetMicro: '0',
    feeMicro: '0',
  }
}

/**
 * Binds a job to its buyer and to the key that started it. Only then its money is taken. Throws `upstream_error` when
 * the provider has given the job an id that another job has, because the two could not be told apart.
 */
export async function bindJob(
  { forwarded }: CallJobs,
  { hold, target, raw }: AdmittedCall,
  { offer, submit, job }: Binding,
): Promise<void> {
  const buyer = hold.account ?? hold.wallet
  const isBound = await forwarded.put(target.listing, job, {
    submit,
    binding: {
      rid: hold.rid,
      buyer,
      offer: offer.id,
      sellerAccount: offer.sellerAccount,
      credentialId: offer.credential.id,
      boundAt: raw.receivedAt,
      good: target.kind === 'model' ? null : target.good,
    },
  })
  if (!isBound) throw new AppError('upstream_error', { cause: new Error('the provider gave the id of another job') })
}

/** A started job: the key that started it, the event of its submit, and the provider's id. */
type Binding = { readonly offer: MarketOffer; readonly submit: string; readonly job: string }

/**
 * Books the end of a job when a provider's answer shows that it is over: its result exists, or it has failed. The
 * answer is sent only after that. Returns the receipt of the job, or undefined while it runs.
 */
export async function endAskedJob(
  plane: CallPlane,
  inquiry: JobInquiry,
  { last, error }: Relay,
): Promise<Receipt | undefined> {
  const { job, question } = inquiry
  const { rid } = job.binding
  const word = last?.decoder.job?.reported()
  if (error !== undefined || word === undefined) return undefined
  const isDone = question.isResult && word.state !== 'failed'
  if (job.end === undefined && !isDone && word.state !== 'failed') return undefined
  const submit = readUsageEvent(job.submit)
  if (submit?.job === undefined) throw new AppError('internal_error', { cause: new Error('a job without its submit') })
  const end = job.end ?? (await plane.jobs.forwarded.end(rid, endOf(plane, { inquiry, submit, word, isDone })))
  if (!job.isBooked) {
    await bookEnd(plane.money, submit, end)
    await plane.jobs.forwarded.markBooked(rid)
  }
  const usageEvent = readUsageEvent(end.event)
  return usageEvent && { ...usageEvent, listInputMicro: ZERO }
}

type Ending = {
  readonly inquiry: JobInquiry
  readonly submit: UsageEvent
  readonly word: JobWord
  readonly isDone: boolean
}

function endOf(plane: CallPlane, { inquiry, submit, word, isDone }: Ending): JobEnd {
  const now = plane.clock.now()
  const outcome = isDone ? 'succeeded' : 'failed'
  const charge = isDone ? chargeOf(inquiry, submit, word) : NO_CHARGE
  const errorCode = isDone ? null : 'upstream_error'
  const event = writeJobEnd(submit, { outcome, errorCode, charge, node: plane.site.nodeId, now })
  return { event, state: outcome, artifacts: [], error: null, endedAt: now }
}

/** The charge of a job: the usage that the provider reports with the result, or the quote, whichever is lower. */
function chargeOf({ question, job }: JobInquiry, submit: UsageEvent, word: JobWord): JobCharge {
  const { unitPrices = {}, bound = {} } = submit.job ?? {}
  const good = question.record.goods.get(job.binding.good ?? '')
  const usage = good && reportedUnits(question.match, good, bound, word.given)
  const terms = { unitPrices, bound, keptBps: keptBps(submit.keptBps), quoteMicro: submit.holdMicro }
  const charge = chargeWork(terms, usage ?? bound, false)
  return charge.chargeMicro === ZERO && usage === undefined ? { ...charge, source: 'estimated' } : charge
}

/** Settles the end under an id of its own. A repeat, here or in another process, changes nothing. */
async function bookEnd(money: CallMoney, submit: UsageEvent, { event }: JobEnd): Promise<void> {
  const subject = subjectOf(submit)
  if (subject === undefined) throw new AppError('internal_error', { cause: new Error('a job without a payer') })
  const end = { ...subject, rid: jobEndId(submit.rid) }
  // The money left the balance at the submit. This settlement only splits it.
  await captureJobEvent(money, end, event, () => money.credit.settle(end, ZERO, event))
}
