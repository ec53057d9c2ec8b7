import type { Target } from '#data-plane/call.ts'
import type { Hold } from '#data-plane/payment.ts'
import { walletPart } from '#data-plane/pipeline/settle-call.ts'
import type { UsageEventText } from '#data-plane/pipeline/stages.ts'
import type { JobRecord, JobRecordText } from '#data-plane/store/jobs.ts'
import type { JobOutcome } from '#shared/contract/job-end.ts'
import { writeJobEnd } from '#shared/contract/job-end.ts'
import { CREDIT_RAIL } from '#shared/contract/rails.ts'
import type { Attempt } from '#shared/contract/usage-event.ts'
import { UsageEventSchema } from '#shared/contract/usage-event.ts'
import type { ErrorCode } from '#shared/errors.ts'
import type { JobTerms } from '#shared/jobs.ts'
import { KEEP_ALL, keptBps } from '#shared/money.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { UsageSchema } from '#shared/usage.ts'

/** Reads the terms of a job's sale from its record. */
export function termsOf(job: JobRecord): JobTerms {
  return {
    unitPrices: UnitPricesSchema.parse(job.unitPrices),
    keptBps: keptBps(job.keptBps),
    bound: UsageSchema.parse(job.bound),
    quoteMicro: job.quoteMicro,
  }
}

/** The event of a started job. The whole quote leaves the balance, and no seller is paid yet. */
export function submitEvent(job: JobRecordText, node: string, now: number): UsageEventText {
  const { deadlineAt, providerJob, unitPrices, bound } = job
  return {
    v: 1,
    kind: 'submit',
    job: { deadlineAt, providerJob, unitPrices, bound },
    rid: job.rid,
    startedAt: job.createdAt,
    endedAt: Math.max(now, job.createdAt),
    node,
    account: job.account,
    keyId: job.keyId,
    ...(job.budgets && { budgets: job.budgets }),
    rail: job.rail ?? CREDIT_RAIL,
    wire: job.wire,
    endpoint: job.endpoint,
    model: job.model,
    requestedModel: job.requestedModel,
    offer: job.offer,
    sellerAccount: job.sellerAccount,
    provider: job.provider,
    servedBy: job.servedBy ?? 'marketplace',
    isStreamed: false,
    outcome: 'succeeded',
    errorCode: null,
    finishReason: null,
    usage: {},
    usageSource: 'reported',
    anomalies: [],
    priceVersion: job.priceVersion,
    keptBps: job.keptBps,
    feeBps: job.feeBps,
    holdMicro: job.quoteMicro,
    chargeMicro: job.quoteMicro,
    listMicro: job.quoteMicro,
    sellerNetMicro: '0',
    feeMicro: '0',
    ttftMs: null,
    streamMs: null,
    overheadMs: 0,
    attempts: [...job.attempts],
    explanation: null,
    ...walletPart({ account: job.account, wallet: job.wallet ?? null, record: job.payment ?? null }),
  }
}

/** The charge of a job that no provider accepted. */
type RefusedJob = {
  readonly hold: Hold
  readonly target: Target
  readonly wire: string
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly attempts: readonly Attempt[]
}

/** The event of a submit that no provider accepted: a failed call without a charge. */
export function refusedEvent(
  { hold, target, wire, startedAt, attempts }: RefusedJob,
  { code, node, now }: { readonly code: ErrorCode; readonly node: string; readonly now: number },
): UsageEventText {
  const nothing = '0'
  return {
    v: 1,
    rid: hold.rid,
    startedAt,
    endedAt: Math.max(now, startedAt),
    node,
    account: hold.account,
    keyId: hold.keyId,
    rail: hold.rail,
    ...walletPart(hold),
    wire,
    endpoint: target.endpoint,
    model: target.id,
    requestedModel: target.requested,
    offer: null,
    sellerAccount: null,
    provider: null,
    servedBy: null,
    isStreamed: false,
    outcome: 'failed',
    errorCode: code,
    finishReason: null,
    usage: {},
    usageSource: 'reported',
    anomalies: [],
    priceVersion: target.price.version,
    keptBps: Number(KEEP_ALL),
    feeBps: Number(NO_FEE),
    holdMicro: hold.grantedMicro.toString(),
    chargeMicro: nothing,
    listMicro: nothing,
    sellerNetMicro: nothing,
    feeMicro: nothing,
    ttftMs: null,
    streamMs: null,
    overheadMs: 0,
    attempts: [...attempts],
    explanation: null,
  }
}
const NO_FEE = keptBps(0)

/** The event of a job's end, from the submit in its record. */
export function endEvent(job: JobRecord, outcome: JobOutcome & { readonly node: string }): string {
  const record = { ...job, quoteMicro: job.quoteMicro.toString() }
  const submit = UsageEventSchema.parse(submitEvent(record, outcome.node, job.createdAt))
  return writeJobEnd(submit, outcome)
}
