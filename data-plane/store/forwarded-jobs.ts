import type { Redis } from 'ioredis'
import { z } from 'zod'
import type { JobEnd } from '#shared/contract/job-record.ts'
import { isJobRestored, JobEndSchema } from '#shared/contract/job-record.ts'
import type { JobBinding } from '#shared/contract/lent-offers.ts'
import { JOB_BINDING_MS, JobBindingSchema, jobBindingKey } from '#shared/contract/lent-offers.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { guarded } from '#shared/ledger/gate-closed.ts'
import { parseJson } from '#shared/parse-json.ts'
import { recordsMissing } from './jobs.ts'
import { together } from './together.ts'

/** Milliseconds for which a job's charge is remembered: longer than its deadline. */
const KEEP_MS = JOB_BINDING_MS + 25 * 3_600_000

const Word = z.string().nullable()
/** The submit of a job, its end, whether the end is booked, and the progress of a restore of records. */
const Read = z.tuple([z.tuple([Word, Word, Word]), Word])

/** A job that runs at a provider, with the event of its submit. */
export type ForwardedJob = {
  readonly binding: JobBinding
  readonly submit: string
  /** Set once it has ended. */
  readonly end: JobEnd | undefined
  readonly isBooked: boolean
}

/** Jobs that buyers have started at providers on lent keys. Every method throws `service_unavailable` without Redis. */
export type ForwardedJobs = {
  /** Binds a job to its buyer. False when it is bound to another call: the first binding stays. */
  put(resource: string, job: string, started: Pick<ForwardedJob, 'binding' | 'submit'>): Promise<boolean>
  /**
   * Undefined for a job that was not started here, and after its binding. Throws {@link recordsMissing} while Redis may
   * have lost it.
   */
  find(resource: string, job: string): Promise<ForwardedJob | undefined>
  /** Stores the end of a job once. Returns the first of several ends, which stays. */
  end(rid: string, end: JobEnd): Promise<JobEnd>
  markBooked(rid: string): Promise<void>
}

export function createForwardedJobs(parts: { readonly cache: Redis; readonly money: Redis }): ForwardedJobs {
  const { cache, money } = parts
  return {
    async put(resource, job, { binding, submit }) {
      const key = moneyKeys.job(binding.rid)
      const place = jobBindingKey(resource, job)
      const bound = money.multi().hset(key, 'submit', submit).pexpire(key, KEEP_MS)
      const [, , , standing] = z
        .tuple([z.unknown(), z.unknown(), z.unknown(), Word])
        .parse(await together(bound.set(place, JSON.stringify(binding), 'PX', JOB_BINDING_MS, 'NX').get(place)))
      if (JobBindingSchema.safeParse(parseJson(standing ?? '')).data?.rid === binding.rid) return true
      await guarded(money.del(key))
      return false
    },
    async find(resource, job) {
      const key = jobBindingKey(resource, job)
      // Earlier versions wrote bindings to the cache.
      const text = (await guarded(money.get(key))) ?? (await guarded(cache.get(key)))
      const binding = JobBindingSchema.safeParse(parseJson(text ?? '')).data
      // Without a request id, the key holds no fields.
      const reads = money.multi().hmget(moneyKeys.job(binding?.rid ?? ''), 'submit', 'end', 'booked')
      const [[submit, end, bookedText], restoredTo] = Read.parse(await together(reads.get(moneyKeys.jobsRestored)))
      if (binding === undefined || submit === null) {
        if (isJobRestored(restoredTo, binding?.rid ?? '')) return undefined
        throw recordsMissing()
      }
      return { binding, submit, end: JobEndSchema.safeParse(parseJson(end ?? '')).data, isBooked: bookedText === '1' }
    },
    async end(rid, end) {
      const key = moneyKeys.job(rid)
      await guarded(money.multi().hsetnx(key, 'end', JSON.stringify(end)).pexpire(key, KEEP_MS, 'NX').exec())
      return JobEndSchema.safeParse(parseJson((await guarded(money.hget(key, 'end'))) ?? '')).data ?? end
    },
    async markBooked(rid) {
      const key = moneyKeys.job(rid)
      await guarded(money.multi().hset(key, 'booked', '1').pexpire(key, KEEP_MS, 'NX').exec())
    },
  }
}
