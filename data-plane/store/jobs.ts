import type { Redis } from 'ioredis'
import type { JobEnd, JobRecordText, StoredJob } from '#shared/contract/job-record.ts'
import { JOB_FIELDS, JOB_KEPT_AFTER_DEADLINE_MS, readJobEnd, readStoredJob } from '#shared/contract/job-record.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'

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
  /** Hides a job whose payment could not be taken, or shows it again once it was. */
  withhold(rid: RequestId, isWithheld: boolean): Promise<void>
}

/** Every method throws AppError `service_unavailable` while Redis is out of reach. */
export function createJobs(redis: Redis): JobStore {
  return {
    async put(job, now) {
      const key = moneyKeys.job(job.rid)
      const lifeMs = job.deadlineAt - now + JOB_KEPT_AFTER_DEADLINE_MS
      await guarded(redis.multi().hset(key, 'job', JSON.stringify(job)).pexpire(key, lifeMs).exec())
    },
    async find(rid) {
      return readStoredJob(await guarded(redis.hmget(moneyKeys.job(rid), ...JOB_FIELDS)))
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
