import type { ShownJob } from '#control-plane/db/job-marks.ts'
import { forgetShownJobs, listShownJobs, markJobs } from '#control-plane/db/job-marks.ts'
import { findCarriedCalls } from '#control-plane/db/payment-views.ts'
import { DAY } from '#shared/clock.ts'
import type { JobMark } from '#shared/contract/job-record.ts'
import { JOB_KEPT_AFTER_DEADLINE_MS, JOBS_RESTORED } from '#shared/contract/job-record.ts'
import { ulidFloor } from '#shared/ids.ts'
import type { LineCtx, Place } from './job-lines.ts'
import { placesOf, recordOf } from './job-lines.ts'
import { endAsShown, openShown } from './shown-job.ts'

/** Most marks that one turn takes to the ledger. */
const MAX_MARKS = 1_000
/** A mark whose job the ledger does not know after so long belongs to none. */
const STRAY_AFTER_MS = 3 * DAY
/** Jobs that are read together, and pages of them in one turn. The next turn goes on. */
const PAGE = 500
const MAX_PAGES = 10
/** Jobs that are written together. Opening many at once keeps the process from answers of Redis until they are too late. */
const TOGETHER = 25
const MAX_FORGOTTEN = 10_000

/**
 * Takes what buyers did to their jobs to the ledger, so that a Redis which loses it is told again. A mark stays where it
 * is until the ledger has it. Returns the number of marks that it has now.
 */
export async function noteJobMarks({ db, jobBook, clock }: Pick<LineCtx, 'db' | 'jobBook' | 'clock'>): Promise<number> {
  const marks = await jobBook.readMarks(MAX_MARKS)
  if (marks.length === 0) return 0
  const now = clock.now()
  const ridsOf = (wanted: JobMark['mark']) => marks.flatMap(({ rid, mark }) => (mark === wanted ? [rid] : []))
  const known = {
    stopped: await markJobs(db, 'stopped', ridsOf('stopped'), now),
    deleted: await markJobs(db, 'deleted', ridsOf('deleted'), now),
  }
  const stray = ulidFloor(now - STRAY_AFTER_MS)
  const noted = marks.filter(({ rid, mark }) => known[mark].has(rid))
  await jobBook.dropMarks(marks.filter((mark) => noted.includes(mark) || mark.rid < stray))
  return noted.length
}

/**
 * Writes the records of ended jobs again after Redis was emptied, the newest first, as long as somebody may ask about
 * them. A word in Redis says how far that has come, so it is lost with them. It begins once the gate is open: processes
 * bring what they know before. Returns the number of jobs.
 */
export async function restoreEndedJobs(ctx: LineCtx): Promise<number> {
  const { none, all } = JOBS_RESTORED
  const { jobBook, clock } = ctx
  let to = await jobBook.restoredTo()
  if (to === all || !(await ctx.gate.isOpen())) return 0
  if (to === undefined) await jobBook.beginRestore(none)
  to ??= none
  let restored = 0
  for (let page = 0; page < MAX_PAGES && to !== all; page++) {
    const deadlineAfter = clock.now() - JOB_KEPT_AFTER_DEADLINE_MS
    const jobs = await listShownJobs(ctx.db, { before: to, deadlineAfter, limit: PAGE })
    restored += await restorePage(ctx, jobs)
    to = jobs.length < PAGE ? all : (jobs.at(-1)?.rid ?? all)
    if (!(await jobBook.noteRestored(to))) break
  }
  return restored
}

async function restorePage(ctx: LineCtx, jobs: readonly ShownJob[]): Promise<number> {
  const [places, payments] = await Promise.all([
    placesOf(ctx, jobs),
    findCarriedCalls(
      ctx.db,
      jobs.map(({ rid }) => rid),
    ),
  ])
  let restored = 0
  for (let from = 0; from < jobs.length; from += TOGETHER) {
    const written = await Promise.all(
      jobs.slice(from, from + TOGETHER).map((job) => {
        const isWithheld = payments.get(job.rid)?.state === 'written_off'
        return restore(ctx, job, { place: places.get(job.offer ?? ''), isWithheld })
      }),
    )
    restored += written.filter((isRestored) => isRestored).length
  }
  return restored
}

type Known = { readonly place: Place | undefined; readonly isWithheld: boolean }

/** Returns false for a job whose record nobody can make any more: its key was destroyed, or was its buyer's own. */
async function restore(ctx: LineCtx, job: ShownJob, { place, isWithheld }: Known): Promise<boolean> {
  const { jobBook, clock, log } = ctx
  const { rid, deadlineAt, shown: sealed, endEvent } = job
  if (job.deletedAt !== null) {
    await jobBook.hide({ rid, deadlineAt: deadlineAt.getTime() }, clock.now())
    return true
  }
  const record = place && recordOf(job, place)
  if (record === undefined || endEvent === null) return false
  let shown: ReturnType<typeof openShown>
  try {
    shown = openShown(ctx, job, sealed)
  } catch (error) {
    log.warn({ err: error, rid }, 'the end of a job cannot be opened')
    return false
  }
  const { asked, adaptedParams } = shown
  const standing = { isWithheld, isStopped: job.stoppedAt !== null, end: endAsShown(shown, endEvent) }
  await jobBook.restore({ ...record, asked, adaptedParams }, standing, clock.now())
  return true
}

/** Forgets how jobs were shown about which nobody may ask any more. Returns their number. */
export function forgetOldJobs({ db, clock }: Pick<LineCtx, 'db' | 'clock'>): Promise<number> {
  return forgetShownJobs(db, clock.now() - JOB_KEPT_AFTER_DEADLINE_MS, MAX_FORGOTTEN)
}
