import type { EndedJob, JobCharge, ProviderJob } from '#shared/jobs.ts'
import { isOver } from '#shared/jobs.ts'
import { splitCharge } from '#shared/money.ts'
import type { JobEnd } from './job-record.ts'
import type { UsageEvent } from './usage-event.ts'
import { jobEndId, readUsageEvent } from './usage-event.ts'

/** The buyer's text for each way in which a job fails. */
export const JOB_FAILURES = {
  failed: 'The provider could not finish the job.',
  forgotten: 'The provider does not know the job any more.',
  overdue: 'The provider did not finish the job before its deadline.',
  keyless: 'The job’s status can no longer be read, because the key that started it was deleted.',
} as const

/** The facts that an end adds to the submit of its job. */
export type JobOutcome = {
  readonly outcome: EndedJob['state']
  readonly errorCode: UsageEvent['errorCode']
  readonly charge: JobCharge
  /** The process that reports the end. Absent when it is the process of the submit. */
  readonly node?: string
  /** Unix milliseconds. An end is never before its submit. */
  readonly now: number
}

/** Writes the event of a job's end from the event of its submit, which has the terms and the parties. */
export function writeJobEnd(submit: UsageEvent, { outcome, errorCode, charge, node, now }: JobOutcome): string {
  const { job: _terms, ...event } = submit
  const { sellerNet, fee } = splitCharge(charge.chargeMicro, event.feeBps)
  const end = {
    ...event,
    kind: 'end',
    rid: jobEndId(event.rid),
    endedAt: Math.max(now, event.startedAt),
    ...(node !== undefined && { node }),
    outcome,
    errorCode,
    finishReason: null,
    usage: charge.usage,
    usageSource: charge.source,
    anomalies: charge.anomalies,
    chargeMicro: charge.chargeMicro,
    listMicro: charge.listMicro,
    ...(charge.ownCost !== undefined && { ownCostPico: charge.ownCost }),
    sellerNetMicro: sellerNet,
    feeMicro: fee,
    keptBps: Number(event.keptBps),
    feeBps: Number(event.feeBps),
  }
  return JSON.stringify(end, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

/**
 * The end of a job as its booked event has it: without files, and without its provider's own text. Undefined for any
 * other event.
 */
export function endAsBooked(event: string): JobEnd | undefined {
  const { outcome, errorCode, endedAt } = readUsageEvent(event) ?? {}
  if (outcome !== 'succeeded' && outcome !== 'failed' && outcome !== 'cancelled') return undefined
  const words = errorCode === 'upstream_timeout' ? JOB_FAILURES.overdue : JOB_FAILURES.failed
  return { event, state: outcome, artifacts: [], error: outcome === 'failed' ? words : null, endedAt: endedAt ?? null }
}

/**
 * The end of a job as booked, with the files that its provider names. Undefined until the provider reports that the job
 * is over.
 */
export function endAsFound(event: string, provider: ProviderJob): JobEnd | undefined {
  const end = isOver(provider) ? endAsBooked(event) : undefined
  const hasFiles = end?.state === 'succeeded' && provider.state === 'succeeded'
  return end && { ...end, artifacts: hasFiles ? [...provider.artifacts] : [] }
}
