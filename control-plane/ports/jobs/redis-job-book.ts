import type { Redis } from 'ioredis'
import { JOB_FIELDS, JOB_KEPT_AFTER_DEADLINE_MS, readJobEnd, readStoredJob } from '#shared/contract/job-record.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { AppError } from '#shared/errors.ts'
import type { JobBook } from './job-book.ts'

type Restored = { readonly rid: string; readonly deadlineAt: number }

/** The connection should fail fast while Redis is away, because the caller comes back by itself. */
export function createRedisJobBook(redis: Redis): JobBook {
  async function restore(job: Restored, field: { readonly name: string; readonly text: string }, now: number) {
    const key = moneyKeys.job(job.rid)
    const lifeMs = job.deadlineAt - now + JOB_KEPT_AFTER_DEADLINE_MS
    if (lifeMs <= 0) return
    await guarded(redis.multi().hsetnx(key, field.name, field.text).pexpire(key, lifeMs).exec())
  }
  return {
    read: (rids) =>
      // Commands of one turn travel together.
      Promise.all(
        rids.map(async (rid) => readStoredJob(await guarded(redis.hmget(moneyKeys.job(rid), ...JOB_FIELDS)))),
      ),
    restore: (job, now) => restore(job, { name: 'job', text: JSON.stringify(job) }, now),
    restoreForwarded: (job, now) => restore(job, { name: 'submit', text: job.submit }, now),
    async end(rid, end) {
      const key = moneyKeys.job(rid)
      await guarded(redis.hsetnx(key, 'end', JSON.stringify(end)))
      return readJobEnd(await guarded(redis.hget(key, 'end'))) ?? end
    },
    async markBooked(rid) {
      await guarded(redis.hset(moneyKeys.job(rid), 'booked', '1'))
    },
    async markStopped(rid) {
      await redis.hset(moneyKeys.job(rid), 'stopped', '1')
    },
  }
}

async function guarded<Result>(answer: Promise<Result>): Promise<Result> {
  return answer.catch((cause: unknown) => {
    throw new AppError('service_unavailable', { retryAfterSeconds: 1, cause })
  })
}
