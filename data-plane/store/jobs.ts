import type { Redis } from 'ioredis'
import { z } from 'zod'
import { MicroUsdText } from '#shared/contract/amount.ts'
import { CREDIT_RAIL, RailNameSchema } from '#shared/contract/rails.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { SERVED_BY } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { ProtocolNameSchema } from '#shared/protocols/index.ts'

/** Milliseconds after its deadline for which a job can still be asked about. */
const KEEP_AFTER_DEADLINE_MS = 24 * 3_600_000

const Milliseconds = z.number().int().nonnegative()
const AttemptRow = z.object({
  offer: z.string().nullable(),
  provider: z.string(),
  status: z.number().int(),
  ms: Milliseconds,
  errorClass: z.string().nullable(),
})

/**
 * The terms of a job at its submit. They are all that its end needs, even when offers are published or withdrawn
 * meanwhile.
 */
const JobRecordSchema = z.object({
  v: z.literal(1),
  rid: z.string().length(26),
  /** Null when a wallet without an account pays. */
  account: z.string().startsWith('acc_').nullable(),
  keyId: z.string().nullable(),
  wallet: z.string().nullable().default(null),
  rail: RailNameSchema.default(CREDIT_RAIL),
  /** The facts that the rail needs to finish the payment. */
  payment: z.record(z.string(), z.unknown()).nullable().default(null),
  wire: z.string(),
  endpoint: z.string(),
  model: z.string(),
  requestedModel: z.string(),
  /** Null for a provider of the payer's own, which nobody sells. */
  offer: z.string().nullable(),
  sellerAccount: z.string().nullable(),
  servedBy: z.enum(SERVED_BY).default('marketplace'),
  provider: z.string(),
  /** The address of its provider, and the credential that submitted it. */
  baseUrl: z.string(),
  apiFormat: ProtocolNameSchema,
  credential: SealedCredentialSchema,
  providerJob: z.string(),
  priceVersion: z.string(),
  /** Decimal strings of pico-USD by usage class. */
  unitPrices: z.record(z.string(), z.string()),
  keptBps: z.number().int(),
  feeBps: z.number().int(),
  quoteMicro: MicroUsdText,
  /** The upper bounds of usage from which the quote was made. */
  bound: z.record(z.string(), z.number()),
  attempts: z.array(AttemptRow),
  /** Unix milliseconds. */
  createdAt: Milliseconds,
  deadlineAt: Milliseconds,
})
export type JobRecord = z.infer<typeof JobRecordSchema>
/** The record as it is written: amounts are digits. */
export type JobRecordText = z.input<typeof JobRecordSchema>

const JobEndSchema = z.object({
  event: z.string(),
  state: z.enum(['succeeded', 'failed', 'cancelled']),
  artifacts: z.array(z.object({ url: z.string(), contentType: z.string() })),
  error: z.string().nullable(),
})
/** The end of a job: its usage event as the text to capture, and the answer that the buyer is shown after that. */
export type JobEnd = z.infer<typeof JobEndSchema>

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
      const lifeMs = job.deadlineAt - now + KEEP_AFTER_DEADLINE_MS
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
