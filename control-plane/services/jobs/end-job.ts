import type { Job } from '#control-plane/db/jobs.ts'
import { JOB_FAILURES, writeJobEnd } from '#shared/contract/job-end.ts'
import type { JobEnd } from '#shared/contract/job-record.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import type { EndedJob, JobCharge } from '#shared/jobs.ts'
import { chargeJob, NO_CHARGE } from '#shared/jobs.ts'

/**
 * The end of a job: as its provider reports it, forgotten by its provider, with its key destroyed, or without an answer
 * at the deadline.
 */
export type JobEnding = EndedJob | 'forgotten' | 'keyless' | 'overdue'

/**
 * Makes the end of a job from its submit. A job that its provider finished is charged for its usage, at most its quote.
 * Any other end costs nothing. Undefined when the submit cannot be read any more.
 */
export function endOfJob(job: Job, ending: JobEnding, now: number): JobEnd | undefined {
  // Booking has checked the event by the rules of its rail.
  const submit = readUsageEvent(job.event)
  if (submit === undefined) return undefined
  const endedJob = typeof ending === 'object' ? ending : undefined
  const state = endedJob?.state ?? 'failed'
  const errorCode = state === 'failed' ? (ending === 'overdue' ? 'upstream_timeout' : 'upstream_error') : null
  return {
    event: writeJobEnd(submit, { outcome: state, errorCode, charge: chargeOf(submit, endedJob), now }),
    state,
    artifacts: endedJob?.state === 'succeeded' ? [...endedJob.artifacts] : [],
    error: state === 'failed' ? JOB_FAILURES[typeof ending === 'object' ? 'failed' : ending] : null,
    endedAt: now,
  }
}

function chargeOf(submit: UsageEvent, endedJob: EndedJob | undefined): JobCharge {
  if (endedJob?.state !== 'succeeded') return NO_CHARGE
  const { holdMicro: quoteMicro, listMicro, keptBps, job: terms } = submit
  if (terms?.unitPrices === undefined || terms.bound === undefined) {
    return { ...NO_CHARGE, source: 'estimated', chargeMicro: quoteMicro, listMicro }
  }
  return chargeJob({ unitPrices: terms.unitPrices, bound: terms.bound, keptBps, quoteMicro }, endedJob)
}
