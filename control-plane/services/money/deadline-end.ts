import type { Job } from '#control-plane/db/jobs.ts'
import type { SubmittedJob, UsageEvent } from '#shared/contract/usage-event.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import type { JobCharge, ProviderJob } from '#shared/jobs.ts'
import { chargeJob } from '#shared/jobs.ts'
import { splitCharge, ZERO } from '#shared/money.ts'
import { DEADLINE_SOURCE } from './finish-job.ts'
import { isPoison, readEvent } from './usage-reading.ts'

/** Makes the end of a job that nobody else ended, from its submit and the provider's answer. */
export function deadlineEnd(job: Job, said: ProviderJob | undefined, now: number): string | undefined {
  const read = readEvent(job.event, DEADLINE_SOURCE)
  if (isPoison(read)) return undefined
  const { job: terms, ...submit } = read.event
  const isOver = said !== undefined && said.state !== 'queued' && said.state !== 'running'
  const outcome = isOver ? said.state : 'failed'
  const charge = chargeOf(submit, terms, said)
  const { sellerNet, fee } = splitCharge(charge.chargeMicro, submit.feeBps)
  const end = {
    ...submit,
    kind: 'end',
    rid: jobEndId(job.rid),
    endedAt: Math.max(now, submit.startedAt),
    outcome,
    errorCode: outcome === 'failed' ? (isOver ? 'upstream_error' : 'upstream_timeout') : null,
    finishReason: null,
    usage: charge.usage,
    usageSource: charge.source,
    anomalies: charge.anomalies,
    chargeMicro: charge.chargeMicro,
    listMicro: charge.listMicro,
    sellerNetMicro: sellerNet,
    feeMicro: fee,
    keptBps: Number(submit.keptBps),
    feeBps: Number(submit.feeBps),
  }
  return JSON.stringify(end, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

const NOTHING: JobCharge = { usage: {}, source: 'reported', chargeMicro: ZERO, listMicro: ZERO, anomalies: [] }

type Submit = Pick<UsageEvent, 'holdMicro' | 'listMicro' | 'keptBps'>

function chargeOf(submit: Submit, terms: SubmittedJob | undefined, said: ProviderJob | undefined): JobCharge {
  if (said?.state !== 'succeeded') return NOTHING
  const { holdMicro: quoteMicro, listMicro, keptBps } = submit
  if (terms?.unitPrices === undefined || terms.bound === undefined) {
    return { ...NOTHING, source: 'estimated', chargeMicro: quoteMicro, listMicro }
  }
  return chargeJob({ unitPrices: terms.unitPrices, bound: terms.bound, keptBps, quoteMicro }, said)
}
