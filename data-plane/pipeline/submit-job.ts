import type { BuyerReply, Hold, Offer, Payer, RawRequest, Target } from '#data-plane/call.ts'
import type { Payment } from '#data-plane/rails/rail.ts'
import type { RateStanding } from '#data-plane/store/rate-limits.ts'
import type { UpstreamFailure } from '#data-plane/upstream/classify.ts'
import { classifyBadAnswer } from '#data-plane/upstream/classify.ts'
import type { ParsedJob } from '#data-plane/wires/wire.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import { MAX_ATTEMPTS } from '#shared/contract/usage-event.ts'
import { AppError, toAppError } from '#shared/errors.ts'
import type { MicroUsd } from '#shared/money.ts'
import { formatMicroUsd, max, min, ZERO } from '#shared/money.ts'
import { chargeUsage, writeUnitPrices } from '#shared/pricing.ts'
import type { ProviderJob } from '#shared/provider-job.ts'
import { askProvider } from './ask-provider.ts'
import { authenticate } from './authenticate.ts'
import { captureJob } from './capture-job.ts'
import { emitJob, emitRefusal } from './emit-call.ts'
import { submitEvent } from './job-event.ts'
import type { JobPlane, JobRoute } from './job-plane.ts'
import { jobIdOf } from './job-plane.ts'
import { capRefusal } from './refuse-caps.ts'
import { refuseSwitchedOff } from './refuse-switched-off.ts'
import { refusalHeaders } from './reply-headers.ts'
import { reserveFunds } from './reserve-funds.ts'
import { checkAllowed, resolveTarget } from './resolve-target.ts'
import { readChoice } from './routing-choice.ts'
import { selectOffers } from './select-offers.ts'

/** A submit's hold outlives all its attempts by this. */
const HOLD_SLACK_MS = 30_000
const SECOND_MS = 1_000

/**
 * Takes a long job: the quote is held, a provider accepts it, and then the whole quote is captured, because the job may
 * outlive every process. What it costs in the end comes out of that; see finish-job.ts. Always answers.
 */
export async function submitJob(plane: JobPlane, route: JobRoute, raw: RawRequest, reply: BuyerReply): Promise<void> {
  const { calls } = plane
  calls.tracing?.begin(raw)
  let standing: RateStanding | undefined
  let scope: string | undefined
  const tried: Tried = { attempts: [], failures: [] }
  try {
    const payment = authenticate({ ...route, withoutCredential: 'challenge' }, raw, calls.apiBaseUrl)
    const payer = await payment.identify()
    refuseSwitchedOff(calls, 'long_jobs')
    const { limits } = calls.market()
    const payerScope = payer.keyId ?? payer.account
    standing = calls.rates.enter(payerScope, payer.ratePerMinute ?? limits.keyRatePerMinute, limits.keyInFlight)
    scope = payerScope
    const job = route.wire.read(raw)
    const admitted = await admit(plane, { raw, job, payment, payer })
    const text = await submitAdmitted(plane, route, admitted, tried)
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
    reply.whole(202, headers, text)
  } catch (thrown) {
    const error = toAppError(thrown)
    emitRefusal(calls, route.wire.name, raw, error)
    const { status, headers, body } = route.wire.envelope(error, raw.requestId)
    reply.whole(status, { ...refusalHeaders(tried.attempts.length, standing), ...headers }, body)
  } finally {
    if (scope !== undefined) calls.rates.leave(scope)
  }
}

type Tried = { readonly attempts: Attempt[]; readonly failures: UpstreamFailure[] }
type Caller = {
  readonly raw: RawRequest
  readonly job: ParsedJob
  readonly payment: Payment
  readonly payer: Payer
}
type Admitted = Caller & {
  readonly target: Target
  readonly offers: readonly Offer[]
  readonly hold: Hold
  quoteAt(offer: Offer): MicroUsd
}

async function admit({ calls, limits }: JobPlane, caller: Caller): Promise<Admitted> {
  const { raw, job, payment, payer } = caller
  const market = calls.market()
  const target = resolveTarget(market, job.demand)
  checkAllowed(market, target, payer)
  const ports = { market, health: calls.health, caps: calls.spentCaps, now: raw.receivedAt }
  const { candidates: offers } = selectOffers(ports, target, readChoice(market, job.demand, payer, raw.requestId))
  const quoteAt = (offer: Offer) => chargeUsage(target.price.unitPrices, job.bound, offer.keptBps)
  const quotes = offers.map(quoteAt)
  let [minMicro] = quotes
  let [wantMicro] = quotes
  if (minMicro === undefined || wantMicro === undefined) throw new AppError('no_sellers_for_model')
  for (const quote of quotes) {
    minMicro = min(minMicro, quote)
    wantMicro = max(wantMicro, quote)
  }
  const { maxCostMicro } = job.demand
  if (maxCostMicro !== undefined && minMicro > maxCostMicro) throw tooDear(maxCostMicro, minMicro)
  if (maxCostMicro !== undefined) wantMicro = min(wantMicro, maxCostMicro)
  const ttlMs = limits.askMs * MAX_ATTEMPTS + HOLD_SLACK_MS
  const hold = await reserveFunds(calls, payment, payer, { rid: raw.requestId, wantMicro, minMicro, ttlMs })
  return { ...caller, target, offers, hold, quoteAt }
}

function tooDear(limit: MicroUsd, required: MicroUsd): AppError {
  return new AppError('cost_ceiling_reached', {
    detail: {
      limit_source: 'max_cost',
      limit_scope: 'call',
      limit_usdc: formatMicroUsd(limit),
      spent_usdc: '0',
      required_usdc: formatMicroUsd(required),
      resets_at: null,
    },
  })
}

/** From the hold to a job that runs; whatever goes wrong gives the hold back. */
async function submitAdmitted(plane: JobPlane, route: JobRoute, admitted: Admitted, tried: Tried): Promise<string> {
  const { raw, hold, payment } = admitted
  try {
    const accepted = await findProvider(plane, route, admitted, tried)
    return await book(plane, route, admitted, { ...accepted, attempts: tried.attempts })
  } catch (thrown) {
    const error = toAppError(thrown)
    void payment.release(hold, error.code, '')
    plane.calls.log.info({ rid: raw.requestId, code: error.code }, 'a job was not taken')
    throw error
  }
}

type Accepted = {
  readonly offer: Offer
  readonly provider: ProviderJob
  /** The id under which its quote was taken from the offer's cap. */
  readonly take: string
}

/**
 * The first offer whose provider takes the job. Another is asked only while it is certain that the one before did not
 * take it: a job that runs twice is paid once.
 */
async function findProvider(
  { calls, limits }: JobPlane,
  { wire }: JobRoute,
  { raw, job, offers, hold, quoteAt }: Admitted,
  { attempts, failures }: Tried,
): Promise<Accepted> {
  for (const offer of offers) {
    const quote = quoteAt(offer)
    if (attempts.length === MAX_ATTEMPTS || quote > hold.grantedMicro) continue
    const take = `${raw.requestId}.${attempts.length}`
    if (!(await calls.offerCaps.take(offer, take, quote, limits.askMs + HOLD_SLACK_MS))) {
      calls.spentCaps.mark(offer.id, calls.clock.now())
      continue
    }
    calls.health.begin(offer)
    const answer = await askProvider(calls, offer, job.encode(offer), limits.askMs)
    const provider = answer.failure === undefined ? wire.readJob(answer.text) : undefined
    const bad = { kind: 'malformed', status: answer.status, text: 'no job' } as const
    const failure = answer.failure ?? (provider === undefined ? classifyBadAnswer(bad) : undefined)
    const row = { offer: offer.id, provider: offer.provider, status: answer.status, ms: answer.ms }
    attempts.push({ ...row, errorClass: failure?.errorClass ?? null })
    if (provider !== undefined) {
      calls.health.succeeded(offer, raw.requestId)
      return { offer, provider, take }
    }
    void calls.offerCaps.settle(offer, take, ZERO)
    if (failure === undefined) continue
    failures.push(failure)
    if (failure.fault === 'offer') calls.health.failed(offer, raw.requestId, failure)
    if (failure.fault === 'buyer' || failure.errorClass === 'timeout' || failure.errorClass === 'cut') break
  }
  const message = 'No seller of the model has enough left of its daily cap for this job.'
  throw failures.at(-1)?.error ?? capRefusal(offers, calls.spentCaps, calls.clock.now(), message)
}

type Taken = Accepted & { readonly attempts: readonly Attempt[] }

/** Writes the job down and captures its quote; only then the buyer hears of it. */
async function book(plane: JobPlane, { wire }: JobRoute, admitted: Admitted, taken: Taken): Promise<string> {
  const { calls, limits } = plane
  const { raw, job, target, hold, payment, payer, quoteAt } = admitted
  const { offer, provider, take, attempts } = taken
  const record = {
    v: 1 as const,
    rid: raw.requestId,
    account: payer.account,
    keyId: payer.keyId,
    wire: wire.name,
    endpoint: target.endpoint,
    model: target.model.id,
    requestedModel: target.requestedModel,
    offer: offer.id,
    sellerAccount: offer.sellerAccount,
    provider: offer.provider,
    baseUrl: offer.baseUrl,
    apiFormat: offer.apiFormat,
    credential: offer.credential,
    providerJob: provider.id,
    priceVersion: target.price.version,
    unitPrices: writeUnitPrices(target.price.unitPrices),
    keptBps: Number(offer.keptBps),
    feeBps: Number(calls.market().limits.platformFeeBps),
    quoteMicro: quoteAt(offer).toString(),
    bound: { ...job.bound },
    attempts: [...attempts],
    createdAt: raw.receivedAt,
    deadlineAt: raw.receivedAt + limits.deadlineMs,
  }
  await plane.jobs.put(record, calls.clock.now())
  const event = JSON.stringify(submitEvent(record, calls.nodeId, calls.clock.now()))
  await captureJob(calls, hold, event, () => payment.settle(hold, quoteAt(offer), event)).finally(() => {
    // The whole quote counts to today's cap, whatever the job costs in the end.
    void calls.offerCaps.settle(offer, take, quoteAt(offer))
  })
  const facts = { wire: wire.name, model: record.model, provider: record.provider, chargeMicro: quoteAt(offer) }
  const waitedMs = attempts.reduce((sum, attempt) => sum + attempt.ms, 0)
  emitJob(calls, raw, { ...facts, tried: attempts }, waitedMs)
  const id = jobIdOf(raw.requestId)
  const head = { id, model: record.model, createdAt: Math.floor(raw.receivedAt / SECOND_MS) }
  const view = { ...head, state: 'queued', artifacts: [], receipt: undefined, error: undefined } as const
  return wire.submitted(view, plane.tokenOf(id))
}
