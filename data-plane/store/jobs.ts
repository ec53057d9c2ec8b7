import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { JobEnd, JobMark, JobRecordText, StoredJob } from '#shared/contract/job-record.ts'
import {
  isHidden,
  isJobRestored,
  JOB_FIELDS,
  JOB_KEPT_AFTER_DEADLINE_MS,
  JOB_NOTE_MS,
  JOBS_RESTORED,
  jobMarkField,
  readJobEnd,
  readStoredJob,
} from '#shared/contract/job-record.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId, RequestId } from '#shared/ids.ts'
import { parseRequestId, ulidFloor } from '#shared/ids.ts'
import { guarded } from '#shared/ledger/gate-closed.ts'
import { together } from './together.ts'

export type { JobEnd, JobRecord, JobRecordText, StoredJob } from '#shared/contract/job-record.ts'

/** Long jobs, from their submit until their record expires. Any process can look them up. */
export type JobStore = {
  /** Stores the record of a job with settled money. A withheld job is hidden. */
  put(job: JobRecordText, mark: { readonly isWithheld: boolean }, now: number): Promise<void>
  /**
   * Undefined for a job that nobody may look up. Throws {@link recordsMissing} for a job that may have lost its record.
   */
  find(rid: RequestId): Promise<StoredJob | undefined>
  /** Stores the end of a job once. Returns the first of several ends, which stays. */
  end(rid: RequestId, end: JobEnd): Promise<JobEnd>
  markBooked(rid: RequestId): Promise<void>
  /** Notes that the buyer has asked to stop the job. */
  markStopped(rid: RequestId): Promise<void>
  /**
   * Notes that the job's provider has answered a buyer's look-up. Never rejects: only the next poll of a worker depends
   * on it.
   */
  noteAsked(rid: RequestId, now: number): void
  /**
   * The jobs of an account of one kind that may be shown, at most `limit`, from the one after `after` on. Throws {@link
   * recordsMissing} while some of them may have lost their records.
   */
  list(account: AccountId, jobListChoice: JobListChoice): Promise<readonly StoredJob[]>
  /**
   * Whether files of a request may be served: `hidden` for a deleted or unpaid job, `unknown` without a record while an
   * emptied Redis may have lost one.
   */
  standingOf(rid: RequestId): Promise<'open' | 'hidden' | 'unknown'>
  /** Hides a job for good. Its record stays until it expires. */
  markDeleted(rid: RequestId): Promise<void>
  /** Hides a job whose payment failed, or shows it again once it was paid. */
  withhold(rid: RequestId, isWithheld: boolean): Promise<void>
  /** Takes jobs that workers ended and whose files are to be copied, at most `limit`, the longest ended first. */
  takeFilesDue(limit: number): Promise<readonly RequestId[]>
  /**
   * Stores this process's notes about jobs again, in a Redis that may have lost them. A record that is restored later
   * is hidden as before.
   */
  bringMarks(): Promise<void>
}

export type JobListChoice = {
  readonly kind: string
  readonly after: RequestId | undefined
  readonly limit: number
  readonly isAscending: boolean
}

/** Most pages of one list. Jobs that may not be shown are rare, so there is seldom more than one page. */
const MAX_PAGES = 10
/** Most notes that a process remembers: the newest ones. */
const MAX_MARKS = 10_000
/** Seconds after which lost records of jobs may be restored. */
const RESTORED_SECONDS = 2
const Word = z.string().nullable()
/** The values of {@link JOB_FIELDS}, and the progress of a restore of records. */
const RecordRead = z.tuple([z.array(Word), Word])
const ListRead = z.tuple([z.array(z.string()), Word])

/** Redis has lost records of jobs, and not all of them are restored. Until then it is unknown which jobs exist. */
export function recordsMissing(): AppError {
  const message = 'Records of jobs are being restored. Ask again when that is over.'
  return new AppError('service_unavailable', { message, retryAfterSeconds: RESTORED_SECONDS })
}

/**
 * `isSure` is false while the gate is shut: Redis may have come back without its last writes, and nothing shows that.
 */
type Ports = { readonly redis: Redis; readonly isSure: () => boolean }

/** Every method throws AppError `service_unavailable` while Redis is out of reach. */
export function createJobs({ redis, isSure }: Ports): JobStore {
  const marks = createMarks(redis)
  const read = (rid: RequestId) => readRecord({ redis, isSure }, rid)
  const find = async (rid: RequestId) => {
    const { values, standing } = await read(rid)
    if (standing === 'unknown') throw recordsMissing()
    return readStoredJob(values)
  }

  return {
    async put(job, { isWithheld }, now) {
      const key = moneyKeys.job(job.rid)
      const lifeMs = job.deadlineAt - now + JOB_KEPT_AFTER_DEADLINE_MS
      const writes = redis.multi().hset(key, 'job', JSON.stringify(job)).pexpire(key, lifeMs)
      if (isWithheld) writes.hset(key, 'withheld', '1')
      if (job.account !== null) {
        const list = moneyKeys.jobsOf(job.wire, job.account)
        // The oldest jobs leave the list when their records expire.
        writes
          .zadd(list, 0, job.rid)
          .zremrangebylex(list, '-', `(${ulidFloor(now - lifeMs)}`)
          .pexpire(list, lifeMs)
      }
      await guarded(writes.exec())
    },
    find,
    noteAsked(rid, now) {
      note(redis, rid, 'asked', String(now))
        .exec()
        .catch(() => undefined)
    },
    async list(account, { kind, after, limit, isAscending }) {
      const key = moneyKeys.jobsOf(kind, account)
      const storedJobs: StoredJob[] = []
      let at = after
      for (let pages = 0; pages < MAX_PAGES && storedJobs.length < limit; pages++) {
        const range = [at === undefined ? (isAscending ? '-' : '+') : `(${at}`, isAscending ? '+' : '-'] as const
        const count = limit - storedJobs.length
        const reads = redis.multi()
        if (isAscending) reads.zrangebylex(key, ...range, 'LIMIT', 0, count)
        else reads.zrevrangebylex(key, ...range, 'LIMIT', 0, count)
        const [rids, restoredTo] = ListRead.parse(await together(reads.get(moneyKeys.jobsRestored)))
        if (restoredTo !== JOBS_RESTORED.all || !isSure()) throw recordsMissing()
        const jobs = await Promise.all(rids.flatMap((rid) => parseRequestId(rid) ?? []).map(find))
        storedJobs.push(...jobs.flatMap((job) => (job === undefined || isHidden(job) ? [] : [job])))
        at = parseRequestId(rids.at(-1) ?? '')
        if (at === undefined || rids.length < count) break
      }
      return storedJobs
    },
    standingOf: async (rid) => (await read(rid)).standing,
    markDeleted: (rid) => marks.note({ rid, mark: 'deleted' }),
    async end(rid, end) {
      const key = moneyKeys.job(rid)
      await guarded(redis.multi().hsetnx(key, 'end', JSON.stringify(end)).pexpire(key, JOB_NOTE_MS, 'NX').exec())
      return readJobEnd(await guarded(redis.hget(key, 'end'))) ?? end
    },
    async markBooked(rid) {
      await guarded(note(redis, rid, 'booked', '1').exec())
    },
    markStopped: (rid) => marks.note({ rid, mark: 'stopped' }),
    async withhold(rid, isWithheld) {
      await guarded(note(redis, rid, 'withheld', isWithheld ? '1' : '0').exec())
    },
    async takeFilesDue(limit) {
      const rids = (await guarded(redis.rpop(moneyKeys.filesDue, limit))) ?? []
      return rids.flatMap((rid) => parseRequestId(rid) ?? [])
    },
    bringMarks: marks.bring,
  }
}

/**
 * Buyers' changes to their jobs that no event carries. A worker soon copies them to the ledger. This process remembers
 * them, too, because Redis may forget them before.
 */
function createMarks(redis: Redis) {
  const marks = new Map<string, JobMark>()
  return {
    async note(mark: JobMark): Promise<void> {
      const name = jobMarkField(mark)
      await guarded(note(redis, mark.rid, mark.mark, '1').hset(moneyKeys.jobMarks, name, '1').exec())
      marks.set(name, mark)
      const [oldest] = marks.keys()
      if (marks.size > MAX_MARKS && oldest !== undefined) marks.delete(oldest)
    },
    async bring(): Promise<void> {
      if (marks.size === 0) return
      const writes = redis.pipeline()
      // An existing record keeps its own end.
      for (const [name, { rid, mark }] of marks) {
        writes.hset(moneyKeys.job(rid), mark, '1').pexpire(moneyKeys.job(rid), JOB_NOTE_MS, 'NX')
        writes.hset(moneyKeys.jobMarks, name, '1')
      }
      await guarded(writes.exec())
    },
  }
}

/** A write of one field. The hash may have expired already, and must not stay for ever then. */
function note(redis: Redis, rid: string, field: (typeof JOB_FIELDS)[number], value: string) {
  const key = moneyKeys.job(rid)
  return redis.multi().hset(key, field, value).pexpire(key, JOB_NOTE_MS, 'NX')
}

/** A single command reads both: between two, the record could be written or Redis emptied. */
async function readRecord({ redis, isSure }: Ports, rid: RequestId) {
  const reads = redis.multi().hmget(moneyKeys.job(rid), ...JOB_FIELDS)
  const [values, restoredTo] = RecordRead.parse(await together(reads.get(moneyKeys.jobsRestored)))
  const [job, , , , withheld, deleted] = values
  if (withheld === '1' || deleted === '1') return { values, standing: 'hidden' } as const
  const isKnown = (job ?? null) !== null || (isJobRestored(restoredTo, rid) && isSure())
  return { values, standing: isKnown ? 'open' : 'unknown' } as const
}
