import type { RequestHead } from '#data-plane/call.ts'
import { recognize } from '#data-plane/pipeline/entrance.ts'
import type { StoredJob } from '#data-plane/store/jobs.ts'
import type { JobView } from '#data-plane/wires/wire.ts'
import { endAsBooked } from '#shared/contract/job-end.ts'
import { AppError } from '#shared/errors.ts'
import { parseRequestId } from '#shared/ids.ts'
import { invalidMember } from '#shared/invalid-member.ts'
import type { JobListRoute, JobPlane } from './job-plane.ts'
import { requestOfJob } from './job-plane.ts'
import { endedView, openView } from './job-view.ts'

const USUAL_LIMIT = 20
const MAX_LIMIT = 100

/**
 * Lists the long jobs of the holder of a key, newest first unless the query says otherwise. No provider is polled: a
 * job runs until its end is booked. Throws AppError: `authentication_required`, the refusals of the rail,
 * `invalid_request`, and `service_unavailable` while Redis may have lost records of them.
 */
export async function listJobs(
  plane: JobPlane,
  route: JobListRoute,
  head: RequestHead,
  query: URLSearchParams,
): Promise<string> {
  const choice = readChoice(query)
  const payment = recognize(route, head)
  if (payment === undefined) throw new AppError('authentication_required')
  const { account } = await payment.identify()
  const { wire } = route
  // An extra job beyond the limit shows whether there are more.
  const pageChoice = { ...choice, kind: wire.name, limit: choice.limit + 1 }
  const jobs = account === null ? [] : await plane.jobs.list(account, pageChoice)
  const shownJobs = jobs.slice(0, choice.limit)
  return wire.listed(
    shownJobs.flatMap((job) => viewOf(plane, job) ?? []),
    jobs.length > shownJobs.length,
  )
}

function viewOf(plane: JobPlane, storedJob: StoredJob): JobView | undefined {
  const { job, isBooked, lostEnd } = storedJob
  const rid = parseRequestId(job.rid)
  if (rid === undefined) return undefined
  const end = storedJob.end ?? (lostEnd === undefined ? undefined : endAsBooked(lostEnd))
  if (end === undefined || !isBooked) return openView(plane, rid, job, { state: 'running', progress: undefined })
  return endedView(plane, rid, { job, end, artifacts: [] })
}

function readChoice(query: URLSearchParams) {
  const [after, limit, order] = [
    query.get('after'),
    query.get('limit') ?? String(USUAL_LIMIT),
    query.get('order') ?? 'desc',
  ]
  const rid = after === null ? undefined : requestOfJob(after)
  if (after !== null && rid === undefined) throw invalidMember('after', 'after must be the id of a job.')
  if (!/^[1-9]\d{0,2}$/.test(limit) || Number(limit) > MAX_LIMIT) {
    throw invalidMember('limit', `limit must be a whole number from 1 to ${MAX_LIMIT}.`)
  }
  if (order !== 'asc' && order !== 'desc') throw invalidMember('order', 'order must be asc or desc.')
  return { after: rid, limit: Number(limit), isAscending: order === 'asc' }
}
