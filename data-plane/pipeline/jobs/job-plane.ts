import type { CallPlane, CallRoute } from '#data-plane/pipeline/call-plane.ts'
import type { AnyRail, Settling } from '#data-plane/rails/rail.ts'
import type { JobStore } from '#data-plane/store/jobs.ts'
import type { JobListWire, JobWire } from '#data-plane/wires/wire.ts'
import type { RailName } from '#shared/contract/rails.ts'
import type { JobId, RequestId } from '#shared/ids.ts'
import { parseRequestId } from '#shared/ids.ts'
import type { JobFiles } from './keep-job-files.ts'

/** Times of long jobs, in milliseconds. */
export type JobLimits = {
  /** Milliseconds in which a provider accepts a job or reports its state. */
  readonly askMs: number
  /** Milliseconds for which a job belongs to its buyer. */
  readonly bindingMs: number
  /** Milliseconds after which the control plane polls the provider for the last time. */
  readonly deadlineMs: number
}

const HOUR_MS = 3_600_000
export const JOB_LIMITS: JobLimits = { askMs: 30_000, bindingMs: 27 * HOUR_MS, deadlineMs: 28 * HOUR_MS }

/** All parts that long jobs use. */
export type JobPlane = {
  readonly calls: CallPlane
  readonly jobs: JobStore
  /** The files of jobs. */
  readonly files: JobFiles
  /** Rails by name. Any process may settle the end of a job. */
  readonly rails: ReadonlyMap<RailName, Settling>
  readonly limits: JobLimits
  /** The origin at which buyers look up their jobs. */
  readonly apiBaseUrl: string
  /** Makes the token of a job. Its holder may look up the job. */
  tokenOf(id: JobId): string
}

/** A path of long jobs: its protocol and the ways to pay. */
export type JobRoute = { readonly wire: JobWire; readonly rails: readonly AnyRail[] }

/** A path at which jobs are listed. */
export type JobListRoute = { readonly wire: JobListWire; readonly rails: readonly AnyRail[] }

/**
 * A path for submits, with the failures after which another provider may be called, and its entry in catalogues.
 */
export type SubmitRoute = JobRoute & Pick<CallRoute, 'failover' | 'extensions'>

/** A job's id contains the id of its request, so no look-up is needed. */
export function jobIdOf(rid: RequestId): JobId {
  return `job_${rid}`
}

export function requestOfJob(id: string): RequestId | undefined {
  return id.startsWith('job_') ? parseRequestId(id.slice('job_'.length)) : undefined
}
