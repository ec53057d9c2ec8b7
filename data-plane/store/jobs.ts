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

/** How long an ended job can still be asked for. */
const KEEP_AFTER_DEADLINE_MS = 24 * 3_600_000

const Milliseconds = z.number().int().nonnegative()
const AttemptRow = z.object({
  offer: z.string().nullable(),
  provider: z.string(),
  status: z.number().int(),
  ms: Milliseconds,
  errorClass: z.string().nullable(),
})

/** What a job was sold as: all that its end needs, whatever is published or withdrawn meanwhile. */
const JobRecordSchema = z.object({
  v: z.literal(1),
  rid: z.string().length(26),
  /** Null where a wallet without an account pays. */
  account: z.string().startsWith('acc_').nullable(),
  keyId: z.string().nullable(),
  wallet: z.string().nullable().default(null),
  rail: RailNameSchema.default(CREDIT_RAIL),
  /** What the rail needs to finish the payment. */
  payment: z.record(z.string(), z.unknown()).nullable().default(null),
  wire: z.string(),
  endpoint: z.string(),
  model: z.string(),
  requestedModel: z.string(),
  /** Null for a provider of the payer's own, whom nobody sells. */
  offer: z.string().nullable(),
  sellerAccount: z.string().nullable(),
  servedBy: z.enum(SERVED_BY).default('marketplace'),
  provider: z.string(),
  /** Where its provider is asked, with the credential that submitted it. */
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
  /** What the quote was made of. */
  bound: z.record(z.string(), z.number()),
  attempts: z.array(AttemptRow),
  /** Unix milliseconds. */
  createdAt: Milliseconds,
  deadlineAt: Milliseconds,
})
export type JobRecord = z.infer<typeof JobRecordSchema>
/** The same as it is written: amounts are digits. */
export type JobRecordText = z.input<typeof JobRecordSchema>

const JobEndSchema = z.object({
  event: z.string(),
  state: z.enum(['succeeded', 'failed', 'cancelled']),
  artifacts: z.array(z.object({ url: z.string(), contentType: z.string() })),
  error: z.string().nullable(),
})
/** How a job ended: its usage event as the bytes to capture, and what the buyer is shown after that. */
export type JobEnd = z.infer<typeof JobEndSchema>

export type StoredJob = {
  readonly job: JobRecord
  readonly end: JobEnd | undefined
  /** True once the end's event has been captured. */
  readonly isBooked: boolean
}

/** Long jobs between their submit and the end of their binding, for any process to ask about. */
export type JobStore = {
  put(job: JobRecordText, now: number): Promise<void>
  find(rid: RequestId): Promise<StoredJob | undefined>
  /** Puts down how a job ended, once: of several only the first stands, and is answered. */
  end(rid: RequestId, end: JobEnd): Promise<JobEnd>
  markBooked(rid: RequestId): Promise<void>
}

/** Everything throws AppError `service_unavailable` while Redis is away. */
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
