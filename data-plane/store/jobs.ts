import type { Redis } from 'ioredis'
import type { JobEnd, JobRecordText, StoredJob } from '#shared/contract/job-record.ts'
import {
  isHidden,
  JOB_FIELDS,
  JOB_KEPT_AFTER_DEADLINE_MS,
  readJobEnd,
  readStoredJob,
} from '#shared/contract/job-record.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { AccountId, RequestId } from '#shared/ids.ts'
import { parseRequestId, ulidFloor } from '#shared/ids.ts'

export type { JobEnd, JobRecord, JobRecordText, StoredJob } from '#shared/contract/job-record.ts'

/** Long jobs, from their submit until their record expires. Any process can ask about them. */
export type JobStore = {
  put(job: JobRecordText, now: number): Promise<void>
  find(rid: RequestId): Promise<StoredJob | undefined>
  /** Writes the end of a job once. The first of several stands and is the answer. */
  end(rid: RequestId, end: JobEnd): Promise<JobEnd>
  markBooked(rid: RequestId): Promise<void>
  /** Notes that the buyer has asked to stop it. */
  markStopped(rid: RequestId): Promise<void>
  /** Notes that its provider has answered its buyer's question. Never rejects: only a worker's patience depends on it. */
  noteAsked(rid: RequestId, now: number): void
  /** The jobs of an account of one kind that it may be shown, at most `limit`, from the one after `after` on. */
  list(account: AccountId, wish: JobListWish): Promise<readonly StoredJob[]>
  /** Hides a job for good. Its record stays until its time is over. */
  markDeleted(rid: RequestId): Promise<void>
  /** Hides a job whose payment could not be taken, or shows it again once it was. */
  withhold(rid: RequestId, isWithheld: boolean): Promise<void>
}

export type JobListWish = {
  readonly kind: string
  readonly after: RequestId | undefined
  readonly limit: number
  readonly isAscending: boolean
}

/** Reads of one list. Jobs that may not be shown are rare, so that there are seldom more than one. */
const MAX_READS = 10

/** Every method throws AppError `service_unavailable` while Redis is out of reach. */
export function createJobs(redis: Redis): JobStore {
  const find = async (rid: RequestId) => readStoredJob(await guarded(redis.hmget(moneyKeys.job(rid), ...JOB_FIELDS)))
  return {
    async put(job, now) {
      const key = moneyKeys.job(job.rid)
      const lifeMs = job.deadlineAt - now + JOB_KEPT_AFTER_DEADLINE_MS
      const writes = redis.multi().hset(key, 'job', JSON.stringify(job)).pexpire(key, lifeMs)
      if (job.account !== null) {
        const list = moneyKeys.jobsOf(job.wire, job.account)
        // The oldest leave the list when their records are over.
        writes
          .zadd(list, 0, job.rid)
          .zremrangebylex(list, '-', `(${ulidFloor(now - lifeMs)}`)
          .pexpire(list, lifeMs)
      }
      await guarded(writes.exec())
    },
    find,
    noteAsked(rid, now) {
      redis.hset(moneyKeys.job(rid), 'asked', now).catch(() => undefined)
    },
    async list(account, { kind, after, limit, isAscending }) {
      const key = moneyKeys.jobsOf(kind, account)
      const found: StoredJob[] = []
      let at = after
      for (let reads = 0; reads < MAX_READS && found.length < limit; reads++) {
        const range = [at === undefined ? (isAscending ? '-' : '+') : `(${at}`, isAscending ? '+' : '-'] as const
        const count = limit - found.length
        const rids = await guarded(
          isAscending
            ? redis.zrangebylex(key, ...range, 'LIMIT', 0, count)
            : redis.zrevrangebylex(key, ...range, 'LIMIT', 0, count),
        )
        const jobs = await Promise.all(rids.flatMap((rid) => parseRequestId(rid) ?? []).map(find))
        found.push(...jobs.flatMap((job) => (job === undefined || isHidden(job) ? [] : [job])))
        at = parseRequestId(rids.at(-1) ?? '')
        if (at === undefined || rids.length < count) break
      }
      return found
    },
    async markDeleted(rid) {
      await guarded(redis.hset(moneyKeys.job(rid), 'deleted', '1'))
    },
    async end(rid, end) {
      const key = moneyKeys.job(rid)
      await guarded(redis.hsetnx(key, 'end', JSON.stringify(end)))
      return readJobEnd(await guarded(redis.hget(key, 'end'))) ?? end
    },
    async markBooked(rid) {
      await guarded(redis.hset(moneyKeys.job(rid), 'booked', '1'))
    },
    async markStopped(rid) {
      await guarded(redis.hset(moneyKeys.job(rid), 'stopped', '1'))
    },
    async withhold(rid, isWithheld) {
      await guarded(redis.hset(moneyKeys.job(rid), 'withheld', isWithheld ? '1' : '0'))
    },
  }
}

async function guarded<Result>(answer: Promise<Result>): Promise<Result> {
  return answer.catch((cause: unknown) => {
    throw new AppError('service_unavailable', { retryAfterSeconds: 1, cause })
  })
}
