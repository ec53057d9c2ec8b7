import type { Job } from '#control-plane/db/jobs.ts'
import type { JobEnd } from '#shared/contract/job-record.ts'
import type { SubmittedJob, UsageEvent } from '#shared/contract/usage-event.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import type { EndedJob, JobCharge } from '#shared/jobs.ts'
import { chargeJob } from '#shared/jobs.ts'
import { splitCharge, ZERO } from '#shared/money.ts'
import { isPoison, readEvent } from './usage-reading.ts'

/** How a job ends: as its provider says, forgotten by its provider, or without its provider's word at the deadline. */
export type Ending = EndedJob | 'forgotten' | 'overdue'

const SENTENCES = {
  failed: 'The provider could not finish the job.',
  forgotten: 'The provider does not know the job any more.',
  overdue: 'The provider did not finish the job before its deadline.',
} as const

/**
 * Makes the end of a job from its submit. A provider's job that is over is charged for its usage, at most its quote. Any
 * other costs nothing. Undefined when the submit cannot be read any more.
 */
export function endOfJob(job: Job, ending: Ending, now: number): JobEnd | undefined {
  const read = readEvent(job.event, 'job')
  if (isPoison(read)) return undefined
  const { job: terms, ...submit } = read.event
  const said = typeof ending === 'object' ? ending : undefined
  const state = said?.state ?? 'failed'
  const charge = chargeOf(submit, terms, said)
  const { sellerNet, fee } = splitCharge(charge.chargeMicro, submit.feeBps)
  const event = {
    ...submit,
    kind: 'end',
    rid: jobEndId(job.rid),
    endedAt: Math.max(now, submit.startedAt),
    outcome: state,
    errorCode: state === 'failed' ? (ending === 'overdue' ? 'upstream_timeout' : 'upstream_error') : null,
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
  return {
    event: JSON.stringify(event, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value)),
    state,
    artifacts: said?.state === 'succeeded' ? [...said.artifacts] : [],
    error: state === 'failed' ? SENTENCES[typeof ending === 'object' ? 'failed' : ending] : null,
    endedAt: now,
  }
}

const NOTHING: JobCharge = { usage: {}, source: 'reported', chargeMicro: ZERO, listMicro: ZERO, anomalies: [] }

type Submit = Pick<UsageEvent, 'holdMicro' | 'listMicro' | 'keptBps'>

function chargeOf(submit: Submit, terms: SubmittedJob | undefined, said: EndedJob | undefined): JobCharge {
  if (said?.state !== 'succeeded') return NOTHING
  const { holdMicro: quoteMicro, listMicro, keptBps } = submit
  if (terms?.unitPrices === undefined || terms.bound === undefined) {
    return { ...NOTHING, source: 'estimated', chargeMicro: quoteMicro, listMicro }
  }
  return chargeJob({ unitPrices: terms.unitPrices, bound: terms.bound, keptBps, quoteMicro }, said)
}
