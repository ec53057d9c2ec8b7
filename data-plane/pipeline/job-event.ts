import type { JobRecord, JobRecordText } from '#data-plane/store/jobs.ts'
import type { ProviderJob } from '#data-plane/wires/wire.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import type { MicroUsd } from '#shared/money.ts'
import { keptBps, min, splitCharge, ZERO } from '#shared/money.ts'
import { chargeUsage, listCost, UnitPricesSchema } from '#shared/pricing.ts'
import type { Usage } from '#shared/usage.ts'
import { UsageSchema } from '#shared/usage.ts'
import type { UsageEventText } from './settle-call.ts'

/** What a job's end costs. */
export type JobCharge = {
  readonly usage: Usage
  readonly source: 'reported' | 'estimated'
  readonly chargeMicro: MicroUsd
  readonly listMicro: MicroUsd
  readonly anomalies: readonly string[]
}

/** A job that did not come to its result costs nothing; the others what was used, at most the quote. */
export function chargeJob(job: JobRecord, provider: ProviderJob): JobCharge {
  if (provider.state !== 'succeeded') {
    return { usage: {}, source: 'reported', chargeMicro: ZERO, listMicro: ZERO, anomalies: [] }
  }
  const prices = UnitPricesSchema.parse(job.unitPrices)
  const usage = provider.usage ?? UsageSchema.parse(job.bound)
  const due = chargeUsage(prices, usage, keptBps(job.keptBps))
  const chargeMicro = min(due, job.quoteMicro)
  const anomalies = [
    ...(provider.usage === undefined ? ['usage_missing'] : []),
    ...(chargeMicro === due ? [] : ['charge_clipped']),
  ]
  const source = provider.usage === undefined ? 'estimated' : 'reported'
  return { usage, source, chargeMicro, listMicro: listCost(prices, usage), anomalies }
}

type Facts = Omit<JobRecordText, 'quoteMicro'> & { readonly quoteMicro: bigint | string }

/** The event of a job that has begun: the whole quote leaves the balance, and nobody is paid yet. */
export function submitEvent(job: JobRecordText, node: string, now: number): UsageEventText {
  return {
    ...common(job, node, now),
    kind: 'submit',
    job: { deadlineAt: job.deadlineAt, providerJob: job.providerJob },
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

/** The event of its end: what it costs is final, and comes out of what the submit set aside. */
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
    rail: 'credit' as const,
    wire: job.wire,
    endpoint: job.endpoint,
    model: job.model,
    requestedModel: job.requestedModel,
    offer: job.offer,
    sellerAccount: job.sellerAccount,
    provider: job.provider,
    servedBy: 'marketplace' as const,
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
  }
}
