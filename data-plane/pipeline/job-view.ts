import type { Receipt } from '#data-plane/call.ts'
import type { JobEnd, JobRecord } from '#data-plane/store/jobs.ts'
import type { ArtifactView, JobView } from '#data-plane/wires/wire.ts'
import { SECOND } from '#shared/clock.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { ZERO } from '#shared/money.ts'
import { jobIdOf } from './job-plane.ts'

/** The facts of a job that every view of it needs. */
type Known = Pick<JobRecord, 'model' | 'createdAt' | 'asked' | 'adaptedParams'>

/** A job that is not over, as its buyer sees it. `bindingMs` are the milliseconds for which it belongs to its buyer. */
export function openView(
  rid: RequestId,
  job: Known,
  { state, progress, bindingMs }: Pick<JobView, 'state' | 'progress'> & { readonly bindingMs: number },
): JobView {
  const over = { endedAt: undefined, artifacts: [], receipt: undefined, error: undefined } as const
  return { ...headOf(rid, job, bindingMs), state, progress, ...over }
}

/** A job that is over, with its cost and the addresses of what it made. */
export function endedView(
  rid: RequestId,
  job: Known,
  end: JobEnd,
  { bindingMs, artifacts }: { readonly bindingMs: number; readonly artifacts: readonly ArtifactView[] },
): JobView {
  const { state, error: words } = end
  return {
    ...headOf(rid, job, bindingMs),
    ...{ state, artifacts, progress: undefined },
    endedAt: end.endedAt === null ? undefined : Math.floor(end.endedAt / SECOND),
    receipt: receiptOf(end),
    error: words === null ? undefined : new AppError('upstream_error', { message: words }),
  }
}

function headOf(rid: RequestId, { model, createdAt, asked, adaptedParams }: Known, bindingMs: number) {
  return {
    ...{ id: jobIdOf(rid), model, asked, adaptedParams },
    createdAt: Math.floor(createdAt / SECOND),
    expiresAt: Math.floor((createdAt + bindingMs) / SECOND),
  }
}

function receiptOf({ event }: JobEnd): Receipt | undefined {
  const read = readUsageEvent(event)
  // What a job is sold by is its output.
  return read && { chargeMicro: read.chargeMicro, listMicro: read.listMicro, listInputMicro: ZERO, usage: read.usage }
}
