import type { AnyRail, Settling } from '#data-plane/rails/rail.ts'
import type { JobStore } from '#data-plane/store/jobs.ts'
import type { JobWire } from '#data-plane/wires/wire.ts'
import type { RailName } from '#shared/contract/rails.ts'
import type { JobId, RequestId } from '#shared/ids.ts'
import { parseRequestId } from '#shared/ids.ts'
import type { CallPlane, CallRoute } from './call-plane.ts'

/** Times of long jobs, in milliseconds. */
export type JobLimits = {
  /** How long a provider may take to accept a job, or to say how it stands. */
  readonly askMs: number
  /** How long a job belongs to its buyer. */
  readonly bindingMs: number
  /** When the ledger's keeper asks the provider for the last time. */
  readonly deadlineMs: number
}

const HOUR_MS = 3_600_000
export const JOB_LIMITS: JobLimits = { askMs: 30_000, bindingMs: 27 * HOUR_MS, deadlineMs: 28 * HOUR_MS }

/** All that serving long jobs reaches for. */
export type JobPlane = {
  readonly calls: CallPlane
  readonly jobs: JobStore
  /** Rails by their names, for the ends of jobs that any process may come to. */
  readonly rails: ReadonlyMap<RailName, Settling>
  readonly limits: JobLimits
  /** The capability that a job's token is: whoever shows it may ask for the job. */
  tokenOf(id: JobId): string
}

/** A path of long jobs: which protocol, and who may pay how. */
export type JobRoute = { readonly wire: JobWire; readonly rails: readonly AnyRail[] }

/** Where jobs are submitted: also how far another provider may be asked after a failure. */
export type SubmitRoute = JobRoute & Pick<CallRoute, 'failover'>

/** A job's id names its request: nothing else has to be looked up. */
export function jobIdOf(rid: RequestId): JobId {
  return `job_${rid}`
}

export function requestOfJob(id: string): RequestId | undefined {
  return id.startsWith('job_') ? parseRequestId(id.slice('job_'.length)) : undefined
}
