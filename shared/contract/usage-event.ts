import { z } from 'zod'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { UsageSchema } from '#shared/usage.ts'
import { KeptBpsNumber, MicroUsdText } from './amount.ts'
import { RailNameSchema } from './rails.ts'

/** Most attempts a call makes, and most offers its explanation names. */
export const MAX_ATTEMPTS = 3
export const MAX_EXPLAINED_OFFERS = 20

/** The most characters of an id, a name or a word in an event; whoever writes one cuts what comes from outside. */
export const MAX_WORD_CHARS = 200
/** The most characters of what a rail keeps in an event, as JSON. */
const MAX_PAYMENT_CHARS = 16_384
const Word = z.string().max(MAX_WORD_CHARS)

export const SERVED_BY = ['marketplace', 'own_key', 'fallback_key'] as const

/** One try at one offer. `status` is the provider's HTTP status, 0 when there was none. */
const AttemptSchema = z.object({
  offer: Word.nullable(),
  provider: Word,
  status: z.number().int(),
  ms: z.number().int().nonnegative(),
  /** Why it failed, in the words of the one classifier; null for the attempt that answered. */
  errorClass: Word.nullable(),
})
export type Attempt = z.infer<typeof AttemptSchema>

/** Why routing went where it went: the offers in order, and the filter that refused each other one. */
const ExplanationSchema = z.object({
  ranked: z.array(z.object({ offer: Word, provider: Word, estimateMicro: MicroUsdText })).max(MAX_EXPLAINED_OFFERS),
  excluded: z.array(z.object({ offer: Word, reason: Word })).max(MAX_EXPLAINED_OFFERS),
  /** The offer that was put in front because it has the conversation cached, and what that was to save. */
  affinity: z.object({ offer: Word, savingMicro: MicroUsdText }).optional(),
})
export type Explanation = z.infer<typeof ExplanationSchema>

/**
 * What an event tells of. A `call` is over: its charge is final. A `submit` is a long job that has begun: its charge is
 * the whole quote, which goes to escrow. An `end` is that job's: its charge is final and comes out of the escrow.
 */
const EVENT_KINDS = ['call', 'submit', 'end'] as const

/** What the submit of a long job adds. */
const SubmittedJobSchema = z.object({
  /** Unix milliseconds after which its provider is asked once more and the job ended whatever it says. */
  deadlineAt: z.number().int().positive(),
  /** The provider's own id of the job. */
  providerJob: z.string().min(1).max(500),
  /** What the quote was made of, for an end that no data plane comes to; without them the quote is what it costs. */
  unitPrices: UnitPricesSchema.optional(),
  bound: UsageSchema.optional(),
})
export type SubmittedJob = z.infer<typeof SubmittedJobSchema>

const JOB_END = '.end'

/** The id under which the end of a long job is captured, journalled and queued; `job` is the submit's request id. */
export function jobEndId(job: string): string {
  return job + JOB_END
}

/** The request id of the job whose end has this id; undefined for an id that is no end's. */
export function jobOfEnd(rid: string): string | undefined {
  return rid.endsWith(JOB_END) ? rid.slice(0, -JOB_END.length) : undefined
}

/**
 * What one call did and cost, version 1: the same bytes stand in the hold, in the journal and in the queue, and the
 * payload hash of a settlement is taken over them. Every admitted call has one, failed ones with a charge of zero.
 *
 * A long job has two. Its `submit` has the quote as `holdMicro` and as `chargeMicro`, with `sellerNetMicro` and
 * `feeMicro` zero, since nobody is paid yet, and `outcome` `succeeded`. Its `end` has {@link jobEndId} as `rid`, the
 * quote as `holdMicro`, and the final charge with its split; it is captured with an amount of zero, because the money
 * left the balance at the submit. A reader that knows only calls refuses both: one by its split, the other by its id.
 */
export const UsageEventSchema = z.object({
  v: z.literal(1),
  /** Absent in the event of an ordinary call. */
  kind: z.enum(EVENT_KINDS).optional(),
  /** Only in a submit. */
  job: SubmittedJobSchema.optional(),
  /** The request id, or that of a job's end. */
  rid: z.string().regex(/^.{26}(\.end)?$/),
  /** Unix milliseconds of admission and of the end. */
  startedAt: z.number().int(),
  endedAt: z.number().int(),
  node: Word,
  /** Null where a wallet without an account pays. */
  account: Word.startsWith('acc_').nullable(),
  keyId: Word.nullable(),
  /** The wallet that pays by the call; absent where an account does. */
  wallet: z.string().min(1).max(100).optional(),
  rail: RailNameSchema,
  /** What the rail needs to finish the payment in another process; absent where the ids say all. */
  payment: z
    .record(z.string(), z.unknown())
    .refine((kept) => JSON.stringify(kept).length <= MAX_PAYMENT_CHARS, 'too long')
    .optional(),
  wire: Word,
  endpoint: Word,
  /** Canonical model, and the name that was asked for. */
  model: Word,
  requestedModel: Word,
  /** The offer that answered; null when none did. */
  offer: Word.nullable(),
  sellerAccount: Word.nullable(),
  provider: Word.nullable(),
  servedBy: z.enum(SERVED_BY).nullable(),
  isStreamed: z.boolean(),
  /** `succeeded`, `failed` (error before content), `cut` (error after content), `cancelled` (the buyer left). */
  outcome: z.enum(['succeeded', 'failed', 'cut', 'cancelled']),
  errorCode: Word.nullable(),
  finishReason: Word.nullable(),
  usage: UsageSchema,
  usageSource: z.enum(['reported', 'estimated']),
  /** Facts that look wrong (usage clipped, class unpriced …), for the operator. */
  anomalies: z.array(Word).max(10),
  priceVersion: Word,
  keptBps: KeptBpsNumber,
  feeBps: KeptBpsNumber,
  holdMicro: MicroUsdText,
  chargeMicro: MicroUsdText,
  listMicro: MicroUsdText,
  sellerNetMicro: MicroUsdText,
  feeMicro: MicroUsdText,
  ttftMs: z.number().int().nonnegative().nullable(),
  /** Milliseconds between the first and the last content. */
  streamMs: z.number().int().nonnegative().nullable(),
  overheadMs: z.number().nonnegative(),
  attempts: z.array(AttemptSchema).max(MAX_ATTEMPTS),
  explanation: ExplanationSchema.nullable(),
})
export type UsageEvent = z.infer<typeof UsageEventSchema>

/** The event in a text; undefined when the text is none. */
export function readUsageEvent(text: string): UsageEvent | undefined {
  try {
    return UsageEventSchema.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

/** Request id and account of a call whose event stands in the gate. */
const CapturedCallSchema = z.tuple([z.string(), z.string()])
export type CapturedCall = z.infer<typeof CapturedCallSchema>

/**
 * A batch as it travels through the queue: calls whose events the gate has, and the events of the others as strings,
 * byte for byte.
 */
export const UsageBatchSchema = z.object({
  v: z.literal(1),
  id: z.string().startsWith('btc_'),
  node: z.string(),
  captured: z.array(CapturedCallSchema).default([]),
  events: z.array(z.string()),
})
export type UsageBatch = z.infer<typeof UsageBatchSchema>
