import type { KeptJob, KeptPage } from '#control-plane/db/job-marks.ts'
import { findKeptJob, forgetShownJobs, listKeptJobs, markJobs } from '#control-plane/db/job-marks.ts'
import { listLentPlaces } from '#control-plane/db/lent-offers.ts'
import { findCarriedCalls } from '#control-plane/db/payment-views.ts'
import type { ForwardedSubmit, JobStanding } from '#control-plane/ports/jobs/job-book.ts'
import type { IngestCtx } from '#control-plane/services/booking/ingest.ts'
import { postLeftBehind } from '#control-plane/services/booking/sweep.ts'
import { DAY } from '#shared/clock.ts'
import { endAsBooked } from '#shared/contract/job-end.ts'
import type { JobMark } from '#shared/contract/job-record.ts'
import { JOB_KEPT_AFTER_DEADLINE_MS, JOBS_RESTORED } from '#shared/contract/job-record.ts'
import { JobBindingSchema } from '#shared/contract/lent-offers.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { ulidFloor, ulidTime } from '#shared/ids.ts'
import type { JobProvider } from './job-lines.ts'
import { placesOf, recordOf } from './job-lines.ts'
import type { JobLineCtx, LentSubmit } from './lent-job-lines.ts'
import { lentSubmit } from './lent-job-lines.ts'
import type { Shown } from './shown-job.ts'
import { endAsShown, openShown } from './shown-job.ts'

/** Most marks that one turn copies to the ledger. */
const MAX_MARKS = 1_000
/** The age at which a mark of a job that the ledger does not know is dropped. */
const STRAY_AFTER_MS = 3 * DAY
/** Jobs in one read, and most reads of one turn. The next turn continues. */
const PAGE = 500
const MAX_PAGES = 10
/** Jobs in one write. With more at once the process would read Redis' answers too late. */
const TOGETHER = 25
const MAX_FORGOTTEN = 10_000

/**
 * Copies the marks that buyers set on their jobs to the ledger, so that an emptied Redis gets them back. A mark stays
 * in Redis until the ledger has it. Returns the number of copied marks.
 */
export async function noteJobMarks({
  db,
  jobBook,
  clock,
}: Pick<JobLineCtx, 'db' | 'jobBook' | 'clock'>): Promise<number> {
  const marks = await jobBook.readMarks(MAX_MARKS)
  if (marks.length === 0) return 0
  const now = clock.now()
  const ridsOf = (ofMark: JobMark['mark']) => marks.flatMap(({ rid, mark }) => (mark === ofMark ? [rid] : []))
  const knownJobs = {
    stopped: await markJobs(db, 'stopped', ridsOf('stopped'), now),
    deleted: await markJobs(db, 'deleted', ridsOf('deleted'), now),
  }
  const stray = ulidFloor(now - STRAY_AFTER_MS)
  const notedMarks = marks.filter(({ rid, mark }) => knownJobs[mark].has(rid))
  await jobBook.dropMarks(marks.filter((mark) => notedMarks.includes(mark) || mark.rid < stray))
  return notedMarks.length
}

/** The ledger's facts about jobs that callers may still look up. */
export type JobArchive = {
  /** The newest jobs before a request id with a deadline after an instant in Unix milliseconds. */
  list(page: KeptPage): Promise<readonly KeptJob[]>
  /** The providers' addresses and keys, by the job. */
  placesOf(jobs: readonly KeptJob[]): Promise<ReadonlyMap<string, JobProvider>>
  /** The sealed keys that started these forwarded jobs, by offer. */
  lentKeysOf(jobs: readonly KeptJob[]): Promise<ReadonlyMap<string, unknown>>
  /** The jobs whose payment failed, among the given ones. */
  writtenOff(rids: readonly string[]): Promise<ReadonlySet<string>>
  /** The end of a job as it was shown. Undefined if it is unknown, or may no longer be shown. */
  shownOf(job: KeptJob): Shown | undefined
}

type ArchiveCtx = Pick<JobLineCtx, 'db' | 'log' | 'settings'>

/** Reads jobs from Postgres. */
export function ledgerArchive(ctx: ArchiveCtx): JobArchive {
  const { db, log } = ctx
  return {
    list: (page) => listKeptJobs(db, page),
    placesOf: (jobs) => placesOf(ctx, jobs),
    async lentKeysOf(jobs) {
      const offers = jobs.flatMap(({ offer }) => offer ?? [])
      return new Map((await listLentPlaces(db, offers)).map(({ offer, sealed }) => [offer, sealed]))
    },
    async writtenOff(rids) {
      const payments = await findCarriedCalls(db, [...rids])
      return new Set(rids.filter((rid) => payments.get(rid)?.state === 'written_off'))
    },
    shownOf(job) {
      const { rid, shown: sealed } = job
      if (sealed === null || sealed === '') return undefined
      try {
        return openShown(ctx, job, sealed)
      } catch (error) {
        log.warn({ err: error, rid }, 'the end of a job cannot be opened')
        return undefined
      }
    },
  }
}

type WriteCtx = Pick<JobLineCtx, 'jobBook' | 'clock'>
type RestoreCtx = IngestCtx & WriteCtx

/**
 * Stores the records of jobs again after Redis was emptied or lost its last writes: the newest first, as long as
 * callers may look them up. A mark in Redis holds the progress, so it is lost together with the records; until it is
 * complete, no caller is told that a job does not exist. The restore begins once the gate is open, because processes
 * report what they know before, and that is booked first. Returns the number of jobs.
 */
export async function restoreJobs(ctx: RestoreCtx, archive: JobArchive): Promise<number> {
  const { begun, none, all } = JOBS_RESTORED
  const { jobBook, clock } = ctx
  let to = await jobBook.restoredTo()
  if (to === all || !(await ctx.gate.isOpen())) return 0
  if (to === undefined) await jobBook.beginRestore(begun)
  to ??= begun
  if (to === begun) {
    const { isAll } = await postLeftBehind(ctx, 0)
    if (!isAll || !(await jobBook.noteRestored(none))) return 0
    to = none
  }
  let restored = 0
  for (let page = 0; page < MAX_PAGES && to !== all; page++) {
    const deadlineAfter = clock.now() - JOB_KEPT_AFTER_DEADLINE_MS
    const jobs = await archive.list({ before: to, deadlineAfter, limit: PAGE })
    restored += await restorePage(ctx, archive, jobs)
    to = jobs.length < PAGE ? all : (jobs.at(-1)?.rid ?? all)
    if (!(await jobBook.noteRestored(to))) break
  }
  return restored
}

/**
 * Stores the record of one job again, which a process reported after the others were restored. Returns false for a job
 * that cannot be rebuilt, or may no longer be looked up.
 */
export async function restoreRecord(ctx: ArchiveCtx & WriteCtx, rid: string): Promise<boolean> {
  const job = await findKeptJob(ctx.db, rid)
  const isOver = (job?.deadlineAt.getTime() ?? 0) + JOB_KEPT_AFTER_DEADLINE_MS <= ctx.clock.now()
  if (job === undefined || job.deletedAt !== null || isOver) return false
  return (await restorePage(ctx, ledgerArchive(ctx), [job])) > 0
}

async function restorePage(ctx: WriteCtx, archive: JobArchive, jobs: readonly KeptJob[]): Promise<number> {
  const forwarded = new Map(
    jobs.flatMap(({ rid, event }) => {
      const submit = lentSubmit(event)
      return submit === undefined ? [] : [[rid, submit]]
    }),
  )
  const [places, lentKeys, unpaid] = await Promise.all([
    archive.placesOf(jobs),
    archive.lentKeysOf(jobs.filter(({ rid }) => forwarded.has(rid))),
    archive.writtenOff(jobs.map(({ rid }) => rid)),
  ])
  let restored = 0
  for (let from = 0; from < jobs.length; from += TOGETHER) {
    const written = await Promise.all(
      jobs.slice(from, from + TOGETHER).map((job) => {
        const { rid } = job
        const submit = forwarded.get(rid)
        if (submit !== undefined) return restoreForwarded(ctx, job, boundTo(job, submit, lentKeys.get(job.offer ?? '')))
        const facts = { place: places.get(rid), isWithheld: unpaid.has(rid), shown: archive.shownOf(job) }
        return restore(ctx, job, facts)
      }),
    )
    restored += written.filter((isRestored) => isRestored).length
  }
  return restored
}

type JobFacts = {
  readonly place: JobProvider | undefined
  readonly isWithheld: boolean
  readonly shown: Shown | undefined
}

/**
 * Returns false for a job whose record cannot be rebuilt, because its submit is unreadable. A hidden job is still
 * marked as hidden.
 */
async function restore({ jobBook, clock }: WriteCtx, job: KeptJob, jobFacts: JobFacts): Promise<boolean> {
  const { rid, endEvent, deletedAt } = job
  const { place, isWithheld, shown } = jobFacts
  const now = clock.now()
  const isDeleted = deletedAt !== null
  const deadlineAt = job.deadlineAt.getTime()
  const record = recordOf(job, place)
  if (record === undefined || (isDeleted && job.endedAt !== null)) {
    if (isDeleted || isWithheld) await jobBook.hide({ rid, deadlineAt }, isDeleted ? 'deleted' : 'withheld', now)
    return isDeleted
  }
  const { asked, adaptedParams } = shown ?? {}
  const buyersPart = { ...(asked !== undefined && { asked }), ...(adaptedParams !== undefined && { adaptedParams }) }
  const standing = {
    isWithheld,
    isDeleted,
    isStopped: job.stoppedAt !== null,
    ...endOf(endEvent, shown, record.credential !== null),
  }
  await jobBook.restore({ ...record, ...buyersPart }, standing, now)
  return true
}

type Bound = ForwardedSubmit['bound']

/** A placeholder in a binding for a destroyed key. */
const GONE_KEY = 'crd_gone'

async function restoreForwarded({ jobBook, clock }: WriteCtx, job: KeptJob, bound: Bound): Promise<boolean> {
  const { rid, event: submit, endEvent } = job
  const end = endEvent === null ? undefined : endAsBooked(endEvent)
  await jobBook.restoreForwarded({ rid, submit, deadlineAt: job.deadlineAt.getTime(), end, bound }, clock.now())
  return true
}

/**
 * The key that started the job, unless it was destroyed or replaced since. In both cases a look-up says so to the
 * buyer.
 */
function boundTo({ providerJob }: KeptJob, submit: LentSubmit, sealed: unknown): Bound {
  const { rid, offer, sellerAccount, startedAt: boundAt, account, wallet, sold } = submit
  const key = SealedCredentialSchema.safeParse(sealed).data
  const isGone = key === undefined || ulidTime(key.id.slice('crd_'.length)) > boundAt
  const credentialId = isGone ? GONE_KEY : key.id
  const facts = { rid, buyer: account ?? wallet, offer, sellerAccount, credentialId, good: sold.good, boundAt }
  const to = JobBindingSchema.safeParse(facts).data
  return to && { resource: sold.id, job: providerJob, to }
}

/** The end of a booked job. Only its provider can list its files again: without a key it is shown without files. */
function endOf(
  event: string | null,
  shownFacts: Shown | undefined,
  isAskable: boolean,
): Pick<JobStanding, 'end' | 'lostEnd'> {
  if (event === null) return {}
  if (shownFacts !== undefined) return { end: endAsShown(shownFacts, event) }
  const end = endAsBooked(event)
  return isAskable && end?.state === 'succeeded' ? { lostEnd: event } : end === undefined ? {} : { end }
}

/** Deletes the shown forms of jobs that callers may no longer look up. Returns their number. */
export function forgetOldJobs({ db, clock }: Pick<JobLineCtx, 'db' | 'clock'>): Promise<number> {
  return forgetShownJobs(db, clock.now() - JOB_KEPT_AFTER_DEADLINE_MS, MAX_FORGOTTEN)
}
