import type { EndedJob, JobCharge } from '#shared/jobs.ts'
import { splitCharge } from '#shared/money.ts'
import type { UsageEvent } from './usage-event.ts'
import { jobEndId } from './usage-event.ts'

/** What an end adds to the submit of its job. */
export type JobOutcome = {
  readonly outcome: EndedJob['state']
  readonly errorCode: UsageEvent['errorCode']
  readonly charge: JobCharge
  /** The process that hears of it; absent where that of the submit stands for the job. */
  readonly node?: string
  /** Unix milliseconds. An end is never before its submit. */
  readonly now: number
}

/** Writes the event of a job's end from that of its submit, which says what it was sold for and to whom. */
export function writeJobEnd(submit: UsageEvent, { outcome, errorCode, charge, node, now }: JobOutcome): string {
  const { job: _terms, ...event } = submit
  const { sellerNet, fee } = splitCharge(charge.chargeMicro, event.feeBps)
  const end = {
    ...event,
    kind: 'end',
    rid: jobEndId(event.rid),
    endedAt: Math.max(now, event.startedAt),
    ...(node !== undefined && { node }),
    ...{ outcome, errorCode, finishReason: null },
    ...{ usage: charge.usage, usageSource: charge.source, anomalies: charge.anomalies },
    ...{ chargeMicro: charge.chargeMicro, listMicro: charge.listMicro },
    ...{ sellerNetMicro: sellerNet, feeMicro: fee },
    ...{ keptBps: Number(event.keptBps), feeBps: Number(event.feeBps) },
  }
  return JSON.stringify(end, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}
