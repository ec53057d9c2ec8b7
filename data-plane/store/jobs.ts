import type { Redis } from 'ioredis'
import type { JobEnd, JobRecord, JobRecordText } from '#shared/contract/job-record.ts'
import { JOB_KEPT_AFTER_DEADLINE_MS, JobEndSchema, JobRecordSchema } from '#shared/contract/job-record.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'

export type { JobEnd, JobRecord, JobRecordText } from '#shared/contract/job-record.ts'

export type StoredJob = {
  readonly job: JobRecord
  readonly end: JobEnd | undefined
  /** True once the event of the end has been captured. */
  readonly isBooked: boolean
}

/** Long jobs, from their submit until their record expires. Any process can ask about them. */
export type JobStore = {
  put(job: JobRecordText, now: number): Promise<void>
  find(rid: RequestId): Promise<StoredJob | undefined>
  /** Writes the end of a job once. The first of several stands and is the answer. */
  end(rid: RequestId, end: JobEnd): Promise<JobEnd>
  markBooked(rid: RequestId): Promise<void>
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
      const [job, end, booked] = await guarded(redis.hmget(moneyKeys.job(rid), 'job', 'end', 'booked'))
      const read = JobRecordSchema.safeParse(parse(job))
      if (!read.success) return undefined
      return { job: read.data, end: readEnd(end), isBooked: booked === '1' }
    },
    async end(rid, end) {
      const key = moneyKeys.job(rid)
      await guarded(redis.hsetnx(key, 'end', JSON.stringify(end)))
      return readEnd(await guarded(redis.hget(key, 'end'))) ?? end
    },
    async markBooked(rid) {
      await guarded(redis.hset(moneyKeys.job(rid), 'booked', '1'))
    },
  }
}

async function guarded<Result>(answer: Promise<Result>): Promise<Result> {
  return answer.catch((cause: unknown) => {
    throw new AppError('service_unavailable', { retryAfterSeconds: 1, cause })
  })
}

function readEnd(text: string | null | undefined): JobEnd | undefined {
  const read = JobEndSchema.safeParse(parse(text))
  return read.success ? read.data : undefined
}

function parse(text: string | null | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null')
  } catch {
    return undefined
  }
}
