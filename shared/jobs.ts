import { withTime } from './clips.ts'
import type { KeptBps, MicroUsd, PicoUsd } from './money.ts'
import { min, ZERO } from './money.ts'
import type { UnitPrices } from './pricing.ts'
import { chargeUsage, listCost } from './pricing.ts'
import type { ProviderRequest } from './protocols/provider-request.ts'
import type { Usage, UsageSource } from './usage.ts'

/** The states of a long job. */
export const JOB_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const
export type JobState = (typeof JOB_STATES)[number]

/**
 * The access to a provider's file: open to everyone for days (`lasting`) or for a while (`brief`), or only for the
 * holder of the provider's key (`keyed`).
 */
export const ARTIFACT_ACCESS = ['lasting', 'brief', 'keyed'] as const
export type ArtifactAccess = (typeof ARTIFACT_ACCESS)[number]

/** A file of a job. */
export type Artifact = {
  /** The file's address at the provider: a URL, or for a `keyed` file the path after the provider's base URL. */
  readonly url: string
  readonly contentType: string
  readonly access: ArtifactAccess
}

/** A provider's answer about a long job. */
export type ProviderJob = {
  /** The provider's id of the job, for its look-ups. */
  readonly id: string
  readonly state: JobState
  /** The progress in percent, if the provider reports it. */
  readonly progress?: number
  /** Milliseconds of the output. Undefined without a plausible figure from the provider. */
  readonly milliseconds: number | undefined
  readonly artifacts: readonly Artifact[]
  /** All of its usage, if the rules of a record read it and not a length. */
  readonly used?: Usage
  /** The provider's own cost. */
  readonly ownCost?: PicoUsd
  /** The provider's text about a failure. It may hold anything. */
  readonly reason?: string
  /** Set when the job is done and another answer holds its result. Until that is read, the job runs. */
  readonly resultAt?: ProviderRequest
}

/** A job in a final state. */
export type EndedJob = ProviderJob & { readonly state: Exclude<JobState, 'queued' | 'running'> }

export function isOver(job: ProviderJob): job is EndedJob {
  return job.state !== 'queued' && job.state !== 'running'
}

/** The end of a job. A failed job whose buyer has asked to stop it counts as cancelled. */
export function endedAs(job: EndedJob, isStopped: boolean): EndedJob {
  return isStopped && job.state === 'failed' ? { ...job, state: 'cancelled' } : job
}

/** The terms of a job's sale. */
export type JobTerms = {
  readonly unitPrices: UnitPrices
  readonly keptBps: KeptBps
  /** The most usage in the quote. */
  readonly bound: Usage
  readonly quoteMicro: MicroUsd
}

/** The cost of a job's end. */
export type JobCharge = {
  readonly usage: Usage
  readonly source: UsageSource
  readonly chargeMicro: MicroUsd
  readonly listMicro: MicroUsd
  readonly anomalies: readonly string[]
  /** The provider's own cost. */
  readonly ownCost?: PicoUsd
}

/** A job without a result costs nothing. */
export const NO_CHARGE: JobCharge = { usage: {}, source: 'reported', chargeMicro: ZERO, listMicro: ZERO, anomalies: [] }

/**
 * Charges a job that is over. A job without a result costs nothing. Others cost their usage, at most the quote. When
 * the provider reports no length, the requested one counts.
 */
export function chargeJob(terms: JobTerms, job: ProviderJob): JobCharge {
  const { ownCost } = job
  const charge = chargeOf(terms, job)
  return ownCost === undefined ? charge : { ...charge, ownCost }
}

function chargeOf(terms: JobTerms, { state, milliseconds, used }: ProviderJob): JobCharge {
  if (state !== 'succeeded') return NO_CHARGE
  if (used !== undefined) return chargeWork(terms, used, false)
  const { bound } = terms
  const usage = milliseconds === undefined ? bound : withTime(bound, milliseconds)
  return chargeWork(terms, usage, milliseconds === undefined && isTimed(bound))
}

/** Charges a job with a result for its usage, at most the quote. `isEstimated` when the usage was not reported. */
export function chargeWork(terms: JobTerms, usage: Usage, isEstimated: boolean): JobCharge {
  const { unitPrices, keptBps, quoteMicro } = terms
  const due = chargeUsage(unitPrices, usage, keptBps)
  const chargeMicro = min(due, quoteMicro)
  const anomalies = [...(isEstimated ? ['usage_missing'] : []), ...(chargeMicro === due ? [] : ['charge_clipped'])]
  const source = isEstimated ? 'estimated' : 'reported'
  return { usage, source, chargeMicro, listMicro: listCost(unitPrices, usage), anomalies }
}

/** True for a price by time. A price by the piece does not depend on the length. */
function isTimed({ milliseconds, milliseconds1080p, milliseconds4k }: Usage): boolean {
  return (milliseconds ?? milliseconds1080p ?? milliseconds4k) !== undefined
}
