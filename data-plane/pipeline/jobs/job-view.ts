import type { Receipt } from '#data-plane/call.ts'
import type { JobEnd, JobRecord } from '#data-plane/store/jobs.ts'
import type { ArtifactView, JobView } from '#data-plane/wires/wire.ts'
import { SECOND } from '#shared/clock.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { ZERO } from '#shared/money.ts'
import type { JobPlane } from './job-plane.ts'
import { jobIdOf } from './job-plane.ts'

/** The facts about a job in every view. */
type JobFacts = Pick<JobRecord, 'model' | 'createdAt' | 'asked' | 'adaptedParams'>

/** The origin at which jobs are looked up, and for how long. */
type Place = Pick<JobPlane, 'limits' | 'apiBaseUrl'>

/** A job that is not over, as its buyer sees it. */
export function openView(
  place: Place,
  rid: RequestId,
  job: JobFacts,
  { state, progress }: Pick<JobView, 'state' | 'progress'>,
): JobView {
  const over = { endedAt: undefined, artifacts: [], receipt: undefined, error: undefined } as const
  return { ...headOf(place, rid, job), state, progress, ...over }
}

/** A job that is over, with its cost and the addresses of its files. */
export function endedView(
  place: Place,
  rid: RequestId,
  {
    job,
    end,
    artifacts,
  }: { readonly job: JobFacts; readonly end: JobEnd; readonly artifacts: readonly ArtifactView[] },
): JobView {
  const { state, error: words } = end
  return {
    ...headOf(place, rid, job),
    state,
    artifacts,
    progress: undefined,
    endedAt: end.endedAt === null ? undefined : Math.floor(end.endedAt / SECOND),
    receipt: receiptOf(end),
    error: words === null ? undefined : new AppError('upstream_error', { message: words }),
  }
}

function headOf(
  { limits: { bindingMs }, apiBaseUrl }: Place,
  rid: RequestId,
  { model, createdAt, asked, adaptedParams }: JobFacts,
) {
  return {
    id: jobIdOf(rid),
    apiBaseUrl,
    model,
    asked,
    adaptedParams,
    createdAt: Math.floor(createdAt / SECOND),
    expiresAt: Math.floor((createdAt + bindingMs) / SECOND),
  }
}

function receiptOf({ event }: JobEnd): Receipt | undefined {
  const read = readUsageEvent(event)
  // A job is priced by its output, so its input has no list price.
  return read && { chargeMicro: read.chargeMicro, listMicro: read.listMicro, listInputMicro: ZERO, usage: read.usage }
}
