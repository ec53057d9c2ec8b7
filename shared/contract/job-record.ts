import { z } from 'zod'
import { DAY } from '#shared/clock.ts'
import { ARTIFACT_ACCESS } from '#shared/jobs.ts'
import { parseJson } from '#shared/parse-json.ts'
import { ProtocolNameSchema } from '#shared/protocols/index.ts'
import { MicroUsdText } from './micro-usd-text.ts'
import { CREDIT_RAIL, RailNameSchema } from './rails.ts'
import { SealedCredentialSchema } from './sealed-credential.ts'
import { AttemptSchema, SERVED_BY } from './usage-event.ts'

/** Milliseconds after its deadline for which a job can still be looked up. */
export const JOB_KEPT_AFTER_DEADLINE_MS = 24 * 3_600_000

/**
 * Milliseconds for which a note about a job without a record is kept: longer than any job lasts. Every write to a job's
 * hash sets this expiry if the hash has none, because its record may expire in between.
 */
export const JOB_NOTE_MS = 3 * DAY

const Milliseconds = z.number().int().nonnegative()

/**
 * The terms of a job at its submit. Its end needs nothing else, even when offers are published or withdrawn meanwhile.
 */
export const JobRecordSchema = z.object({
  v: z.literal(1),
  rid: z.string().length(26),
  /** Null when a wallet without an account pays. */
  account: z.string().startsWith('acc_').nullable(),
  keyId: z.string().nullable(),
  /** The budgets in which the gate counts its quote. Absent without one. */
  budgets: z.array(z.string()).optional(),
  wallet: z.string().nullable().default(null),
  rail: RailNameSchema.default(CREDIT_RAIL),
  /** The facts that the rail needs to finish the payment. */
  payment: z.record(z.string(), z.unknown()).nullable().default(null),
  wire: z.string(),
  endpoint: z.string(),
  model: z.string(),
  requestedModel: z.string(),
  /** Null for a provider of the payer's own, which has no seller. */
  offer: z.string().nullable(),
  sellerAccount: z.string().nullable(),
  servedBy: z.enum(SERVED_BY).default('marketplace'),
  provider: z.string(),
  /** The address of its provider, and the credential that submitted it. Null when they are unknown. */
  baseUrl: z.string().nullable(),
  apiFormat: ProtocolNameSchema.nullable(),
  credential: SealedCredentialSchema.nullable(),
  providerJob: z.string(),
  priceVersion: z.string(),
  /** Decimal strings of pico-USD by usage class. */
  unitPrices: z.record(z.string(), z.string()),
  keptBps: z.number().int(),
  feeBps: z.number().int(),
  quoteMicro: MicroUsdText,
  /** The upper bounds of usage from which the quote was made. */
  bound: z.record(z.string(), z.number()),
  attempts: z.array(AttemptSchema),
  /** The requested length and size, never the buyer's text. */
  asked: z
    .object({ seconds: z.number().nullable(), size: z.string().nullable() })
    .default({ seconds: null, size: null }),
  /** Members of the request that its provider did not receive, or received in another form. */
  adaptedParams: z.array(z.string()).default([]),
  /** Unix milliseconds. */
  createdAt: Milliseconds,
  deadlineAt: Milliseconds,
})
export type JobRecord = z.infer<typeof JobRecordSchema>
/** The record in its JSON form: amounts are digits. */
export type JobRecordText = z.input<typeof JobRecordSchema>

/** A job whose provider can be polled. */
export type AskableJob = JobRecord & {
  readonly [Name in 'baseUrl' | 'apiFormat' | 'credential']: NonNullable<JobRecord[Name]>
}
export function isAskable(job: JobRecord): job is AskableJob {
  return job.baseUrl !== null && job.apiFormat !== null && job.credential !== null
}

export const JobEndSchema = z.object({
  event: z.string(),
  state: z.enum(['succeeded', 'failed', 'cancelled']),
  artifacts: z.array(
    z.object({ url: z.string(), contentType: z.string(), access: z.enum(ARTIFACT_ACCESS).default('lasting') }),
  ),
  error: z.string().nullable(),
  /** Unix milliseconds at which the provider reported it; null in older ends. */
  endedAt: Milliseconds.nullable().default(null),
})
/** The end of a job: its usage event as the text to capture, and the answer that the buyer gets after that. */
export type JobEnd = z.infer<typeof JobEndSchema>

/** A job in Redis, in the fields that {@link JOB_FIELDS} names. */
export type StoredJob = {
  readonly job: JobRecord
  readonly end: JobEnd | undefined
  /** True once the event of the end has been captured or booked. */
  readonly isBooked: boolean
  /** True once its buyer has asked to stop it. If the job fails after that, it counts as cancelled. */
  readonly isStopped: boolean
  /** True while its payment has failed. The job is hidden then. */
  readonly isWithheld: boolean
  /** True once its buyer has deleted it. The job is hidden then; it is booked like any other. */
  readonly isDeleted: boolean
  /**
   * Unix milliseconds of its buyer's newest look-up that its provider answered. Workers need not poll again so soon.
   */
  readonly askedAt: number | undefined
  /**
   * The event of a booked end whose shown form Redis has lost. The worker that learns the files from its provider
   * stores the end with this event.
   */
  readonly lostEnd: string | undefined
}

/** True for a hidden job: its payment failed, or its buyer has deleted it. */
export function isHidden({ isWithheld, isDeleted }: Pick<StoredJob, 'isWithheld' | 'isDeleted'>): boolean {
  return isWithheld || isDeleted
}

/**
 * The fields of a job's hash. `job` is written at the submit. `end` is written once, by the first process that learns
 * of the end, and only with HSETNX: it alone decides how the job ended. `booked` is `1` after that end is durable in
 * the money path, `stopped` after its buyer has asked to stop it, `withheld` while its payment has failed, `deleted`
 * after its buyer has deleted it. `asked` is the instant of its buyer's newest look-up. `lost` is the event of a booked
 * end whose shown form is unknown.
 */
export const JOB_FIELDS = ['job', 'end', 'booked', 'stopped', 'withheld', 'deleted', 'asked', 'lost'] as const

/**
 * The progress of a restore of jobs in Redis, from the newest to the oldest: the request id of the last one. `none`
 * sorts after every id. `all` means that none is left. At `begun` the ledger does not have the processes' reports yet.
 */
export const JOBS_RESTORED = { begun: '~begun', none: '~', all: 'all' } as const

/** True when a job has its record, if it can still be looked up. `to` is the progress of the restore. */
export function isJobRestored(to: string | null | undefined, rid: string): boolean {
  return to === JOBS_RESTORED.all || (typeof to === 'string' && to <= rid)
}

/** A buyer's changes to a job that no event carries. */
export const JOB_MARKS = ['stopped', 'deleted'] as const
export type JobMark = { readonly rid: string; readonly mark: (typeof JOB_MARKS)[number] }

/** The field of a mark in the hash of marks that the ledger does not know yet. */
export function jobMarkField({ rid, mark }: JobMark): string {
  return `${rid} ${mark}`
}

export function readJobMark(field: string): JobMark | undefined {
  const [rid = '', word] = field.split(' ', 2)
  const mark = JOB_MARKS.find((each) => each === word)
  return mark === undefined ? undefined : { rid, mark }
}

/** Parses a job from the values of {@link JOB_FIELDS}. Undefined without one. */
export function readStoredJob(values: readonly (string | null | undefined)[]): StoredJob | undefined {
  const [job, end, bookedText, stopped, withheld, deleted, askedText, lostText] = values
  const read = JobRecordSchema.safeParse(parseJson(job ?? ''))
  if (!read.success) return undefined
  const isMarked = (mark: string | null | undefined) => mark === '1'
  return {
    job: read.data,
    end: readJobEnd(end),
    isBooked: isMarked(bookedText),
    isStopped: isMarked(stopped),
    isWithheld: isMarked(withheld),
    isDeleted: isMarked(deleted),
    askedAt: /^\d{1,15}$/.test(askedText ?? '') ? Number(askedText) : undefined,
    lostEnd: lostText ?? undefined,
  }
}

export function readJobEnd(text: string | null | undefined): JobEnd | undefined {
  const read = JobEndSchema.safeParse(parseJson(text ?? ''))
  return read.success ? read.data : undefined
}
