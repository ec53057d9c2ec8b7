import type { ChainableCommander, Redis } from 'ioredis'
import type { JobEnd } from '#shared/contract/job-record.ts'
import {
  JOB_FIELDS,
  JOB_KEPT_AFTER_DEADLINE_MS,
  JOB_NOTE_MS,
  jobMarkField,
  readJobEnd,
  readJobMark,
  readStoredJob,
} from '#shared/contract/job-record.ts'
import { JOB_BINDING_MS, jobBindingKey } from '#shared/contract/lent-offers.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { guarded } from '#shared/ledger/gate-closed.ts'
import type { JobBook, JobStanding } from './job-book.ts'

/** Most jobs whose files wait to be copied: the newest ones. Other files are copied on their buyers' request. */
const MAX_FILES_DUE = 10_000

type Restored = {
  readonly rid: string
  readonly deadlineAt: number
  /** The list of its buyer's jobs, and its lifetime in milliseconds. */
  readonly listed?: { readonly list: string; readonly lifeMs: number } | undefined
}

/** The connection should fail fast while Redis is away, because the caller tries again by itself. */
export function createRedisJobBook(redis: Redis): JobBook {
  const together = oneStepATurn(redis)
  async function restore({ rid, deadlineAt, listed }: Restored, fields: Readonly<Record<string, string>>, now: number) {
    const key = moneyKeys.job(rid)
    const lifeMs = deadlineAt - now + JOB_KEPT_AFTER_DEADLINE_MS
    if (lifeMs <= 0) return
    const { writes, written } = together()
    for (const [name, text] of Object.entries(fields)) writes.hsetnx(key, name, text)
    writes.pexpire(key, lifeMs)
    if (listed !== undefined) writes.zadd(listed.list, 0, rid).pexpire(listed.list, listed.lifeMs)
    await written
  }
  return {
    read: (rids) =>
      // Commands of one event-loop turn travel together.
      Promise.all(
        rids.map(async (rid) => readStoredJob(await guarded(redis.hmget(moneyKeys.job(rid), ...JOB_FIELDS)))),
      ),
    restore(job, standing, now) {
      const { rid, account, wire, createdAt, deadlineAt } = job
      // The list lasts as long as for a job that begins now.
      const lifeMs = deadlineAt - createdAt + JOB_KEPT_AFTER_DEADLINE_MS
      const listing = account === null ? undefined : { list: moneyKeys.jobsOf(wire, account), lifeMs }
      return restore({ rid, deadlineAt, listed: listing }, { ...fieldsOf(standing), job: JSON.stringify(job) }, now)
    },
    hide: (job, why, now) => restore(job, { [why]: '1' }, now),
    async restoreForwarded(job, now) {
      await restore(job, { ...fieldsOfEnd(job), submit: job.submit }, now)
      const { resource = '', job: providerJob = '', to } = job.bound ?? {}
      const lifeMs = (to?.boundAt ?? 0) + JOB_BINDING_MS - now
      if (lifeMs <= 0) return
      await guarded(redis.set(jobBindingKey(resource, providerJob), JSON.stringify(to), 'PX', lifeMs, 'NX'))
    },
    async end(rid, end) {
      const key = moneyKeys.job(rid)
      await guarded(redis.multi().hsetnx(key, 'end', JSON.stringify(end)).pexpire(key, JOB_NOTE_MS, 'NX').exec())
      return readJobEnd(await guarded(redis.hget(key, 'end'))) ?? end
    },
    async noteLostEnd(rid, event) {
      const key = moneyKeys.job(rid)
      const writes = redis.multi().hsetnx(key, 'lost', event).hset(key, 'booked', '1')
      await guarded(writes.pexpire(key, JOB_NOTE_MS, 'NX').exec())
    },
    async markBooked(rid, { hasFiles }) {
      const key = moneyKeys.job(rid)
      const writes = redis.multi().hset(key, 'booked', '1').pexpire(key, JOB_NOTE_MS, 'NX')
      if (hasFiles) writes.lpush(moneyKeys.filesDue, rid).ltrim(moneyKeys.filesDue, 0, MAX_FILES_DUE - 1)
      await guarded(writes.exec())
    },
    async markStopped(rid) {
      const mark = jobMarkField({ rid, mark: 'stopped' })
      const key = moneyKeys.job(rid)
      const writes = redis.multi().hset(key, 'stopped', '1').pexpire(key, JOB_NOTE_MS, 'NX')
      await guarded(writes.hset(moneyKeys.jobMarks, mark, '1').exec())
    },
    async readMarks(limit) {
      const fields = await guarded(redis.hrandfield(moneyKeys.jobMarks, limit))
      return [fields ?? []].flat().flatMap((field) => readJobMark(String(field)) ?? [])
    },
    async dropMarks(marks) {
      if (marks.length > 0) await guarded(redis.hdel(moneyKeys.jobMarks, ...marks.map(jobMarkField)))
    },
    restoredTo: async () => (await guarded(redis.get(moneyKeys.jobsRestored))) ?? undefined,
    async beginRestore(to) {
      await guarded(redis.set(moneyKeys.jobsRestored, to, 'NX'))
    },
    noteRestored: async (to) => (await guarded(redis.set(moneyKeys.jobsRestored, to, 'XX'))) === 'OK',
  }
}

/** Bundles the writes of one event-loop turn into one step: a MULTI for each would cost a tenth of a millisecond. */
function oneStepATurn(redis: Redis) {
  let open: { readonly writes: ChainableCommander; readonly written: Promise<unknown> } | undefined
  return () => {
    if (open !== undefined) return open
    const writes = redis.multi()
    const end = async () => {
      open = undefined
      await guarded(writes.exec())
    }
    open = { writes, written: Promise.resolve().then(end) }
    return open
  }
}

/** HSETNX writes the end, like every other writer: an existing end stays. */
function fieldsOf(standing: JobStanding): Readonly<Record<string, string>> {
  const { isWithheld, isStopped, isDeleted, lostEnd } = standing
  return {
    ...(isWithheld && { withheld: '1' }),
    ...(isStopped === true && { stopped: '1' }),
    ...(isDeleted === true && { deleted: '1' }),
    ...(lostEnd !== undefined && { lost: lostEnd, booked: '1' }),
    ...fieldsOfEnd(standing),
  }
}

function fieldsOfEnd({ end }: { readonly end?: JobEnd | undefined }): Readonly<Record<string, string>> {
  return end === undefined ? {} : { end: JSON.stringify(end), booked: '1' }
}
