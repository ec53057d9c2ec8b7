import type { JobRecord, JobRecordText } from '#data-plane/store/jobs.ts'
import { CREDIT_RAIL } from '#shared/contract/rails.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import type { JobCharge, JobTerms, ProviderJob } from '#shared/jobs.ts'
import { keptBps, splitCharge } from '#shared/money.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { UsageSchema } from '#shared/usage.ts'
import type { UsageEventText } from './settle-call.ts'

/** Reads the terms of a job's sale out of its record. */
export function termsOf(job: JobRecord): JobTerms {
  return {
    unitPrices: UnitPricesSchema.parse(job.unitPrices),
    keptBps: keptBps(job.keptBps),
    bound: UsageSchema.parse(job.bound),
    quoteMicro: job.quoteMicro,
  }
}

type Facts = Omit<JobRecordText, 'quoteMicro'> & { readonly quoteMicro: bigint | string }

/** The event of a job that has begun. The whole quote leaves the balance, and nobody is paid yet. */
export function submitEvent(job: JobRecordText, node: string, now: number): UsageEventText {
  const { deadlineAt, providerJob, unitPrices, bound } = job
  return {
    ...common(job, node, now),
    kind: 'submit',
    job: { deadlineAt, providerJob, unitPrices, bound },
    outcome: 'succeeded',
    errorCode: null,
    usage: {},
    usageSource: 'reported',
    anomalies: [],
    chargeMicro: job.quoteMicro,
    listMicro: job.quoteMicro,
    sellerNetMicro: '0',
    feeMicro: '0',
  }
}

type End = {
  readonly job: JobRecord
  readonly state: ProviderJob['state']
  readonly charge: JobCharge
  readonly node: string
  readonly now: number
}

/** The event of a job's end. Its charge is final and comes out of the money that the submit took. */
export function endEvent({ job, state, charge, node, now }: End): UsageEventText {
  const { sellerNet, fee } = splitCharge(charge.chargeMicro, keptBps(job.feeBps))
  const outcome = state === 'succeeded' || state === 'cancelled' ? state : 'failed'
  return {
    ...common(job, node, now),
    kind: 'end',
    rid: jobEndId(job.rid),
    outcome,
    errorCode: outcome === 'failed' ? 'upstream_error' : null,
    usage: charge.usage,
    usageSource: charge.source,
    anomalies: [...charge.anomalies],
    chargeMicro: charge.chargeMicro.toString(),
    listMicro: charge.listMicro.toString(),
    sellerNetMicro: sellerNet.toString(),
    feeMicro: fee.toString(),
  }
}

function common(job: Facts, node: string, now: number) {
  return {
    v: 1 as const,
    rid: job.rid,
    startedAt: job.createdAt,
    endedAt: Math.max(now, job.createdAt),
    node,
    account: job.account,
    keyId: job.keyId,
    rail: job.rail ?? CREDIT_RAIL,
    ...(job.account === null && job.wallet != null && { wallet: job.wallet }),
    wire: job.wire,
    endpoint: job.endpoint,
    model: job.model,
    requestedModel: job.requestedModel,
    offer: job.offer,
    sellerAccount: job.sellerAccount,
    provider: job.provider,
    servedBy: job.servedBy ?? ('marketplace' as const),
    isStreamed: false,
    finishReason: null,
    priceVersion: job.priceVersion,
    keptBps: job.keptBps,
    feeBps: job.feeBps,
    holdMicro: job.quoteMicro.toString(),
    ttftMs: null,
    streamMs: null,
    overheadMs: 0,
    attempts: [...job.attempts],
    explanation: null,
    ...(job.payment != null && { payment: job.payment }),
  }
}
