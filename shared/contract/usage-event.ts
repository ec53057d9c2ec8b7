import { z } from 'zod'
import { parseJson } from '#shared/parse-json.ts'
import { UnitPricesSchema } from '#shared/pricing.ts'
import { UsageSchema } from '#shared/usage.ts'
import { KeptBpsNumber, MicroUsdText, PicoUsdText } from './micro-usd-text.ts'
import { RailNameSchema } from './rails.ts'

/** The most attempts of a call, and the most offers in its explanation. */
export const MAX_ATTEMPTS = 3
export const MAX_EXPLAINED_OFFERS = 20

/** The longest id, name or word in an event, in characters. Writers cut texts from outside. */
export const MAX_WORD_CHARS = 200
/** The most conditions of a price list in an event. */
export const MAX_PRICE_CONDITIONS = 10
/** The longest record of a rail in an event, in characters of JSON. */
const MAX_PAYMENT_CHARS = 16_384
const Word = z.string().max(MAX_WORD_CHARS)
/** The longest part of a path that an event keeps: that of the longest forwarded path. */
const MAX_CAPTURE_CHARS = 2_048

export const SERVED_BY = ['marketplace', 'own_key', 'fallback_key'] as const

/** An attempt at an offer. `status` is the provider's HTTP status, 0 without an answer. */
export const AttemptSchema = z.object({
  offer: Word.nullable(),
  provider: Word,
  status: z.number().int(),
  ms: z.number().int().nonnegative(),
  /** Milliseconds of `ms` until a new connection was ready. Absent for an open one. */
  connectMs: z.number().int().positive().optional(),
  /** Set when the request was sent twice: its idle connection was closed as it left, so a new one was opened. */
  isResent: z.literal(true).optional(),
  /** The classifier's name of the failure. Null for the attempt that answered. */
  errorClass: Word.nullable(),
})
export type Attempt = z.infer<typeof AttemptSchema>

/** The reasons of the routing: the offers in order, and the filter that refused each of the others. */
const ExplanationSchema = z.object({
  ranked: z.array(z.object({ offer: Word, provider: Word, estimateMicro: MicroUsdText })).max(MAX_EXPLAINED_OFFERS),
  excluded: z.array(z.object({ offer: Word, reason: Word })).max(MAX_EXPLAINED_OFFERS),
  /** The offer that was put first because it had the conversation cached, and the expected saving. */
  affinity: z.object({ offer: Word, savingMicro: MicroUsdText }).optional(),
})
export type Explanation = z.infer<typeof ExplanationSchema>

/**
 * The kinds of events. A `call` is over and its charge is final. A `submit` is a started long job; its charge is the
 * whole quote, which goes to escrow. An `end` is the end of that job; its charge is final and comes out of the escrow.
 */
const EVENT_KINDS = ['call', 'submit', 'end'] as const

/** The part of an event that the submit of a long job adds. */
const SubmittedJobSchema = z.object({
  /** Unix milliseconds. After this instant the provider is polled once more, and the job ends whatever it answers. */
  deadlineAt: z.number().int().positive(),
  /** The provider's own id of the job. */
  providerJob: z.string().min(1).max(500),
  /** The parts of the quote, for an end that no data plane captures. Without them the job costs the quote. */
  unitPrices: UnitPricesSchema.optional(),
  bound: UsageSchema.optional(),
  /** Captures from the path of a forwarded submit. Paths about its job consist of them. */
  captures: z.record(z.string().max(40), z.string().max(MAX_CAPTURE_CHARS)).optional(),
})

/** The purchased resource or family. `model` of the event is then `resource/…` or `family/…` with the id. */
const SoldSchema = z.object({
  kind: z.enum(['resource', 'family']),
  /** The id of the record. */
  id: z.string().min(1).max(40),
  /** The good, and the route of the call. Null for calls without a good, such as a poll. */
  good: Word.nullable(),
  route: z.string().min(1).max(40),
})
export type Sold = z.infer<typeof SoldSchema>

/** The name of a purchase in `model` of an event, in look-ups, statements and the ledger. */
export function soldName({ kind, id }: Pick<Sold, 'kind' | 'id'>): string {
  return `${kind}/${id}`
}

/** True for the name of a forwarded call in `model`. No model has such a name. */
export function isSoldName(model: string): boolean {
  return /^(?:resource|family)\/./.test(model)
}

const JOB_END = '.end'

/** The id under which a long job's end is captured, journalled and queued. `job` is the submit's request id. */
export function jobEndId(job: string): string {
  return job + JOB_END
}

/** The request id of the job in an end's id. Undefined for any other id. */
export function jobOfEnd(rid: string): string | undefined {
  return rid.endsWith(JOB_END) ? rid.slice(0, -JOB_END.length) : undefined
}

/**
 * The facts and the cost of one call, version 1: the hold, the journal and the queue hold the same bytes, and the
 * payload hash of a settlement is computed over them. Every admitted call has an event, failed ones with a charge of
 * zero.
 *
 * A long job has two. Its `submit` has the quote as `holdMicro` and as `chargeMicro`, with `sellerNetMicro` and
 * `feeMicro` zero, because no seller is paid yet, and `outcome` `succeeded`. Its `end` has {@link jobEndId} as `rid`,
 * the quote as `holdMicro`, and the final charge with its split. The end is captured with an amount of zero, because
 * the money left the balance at the submit. A reader that knows only calls refuses both: one by its split, the other by
 * its id.
 */
export const UsageEventSchema = z.object({
  v: z.literal(1),
  /** Absent for an ordinary call. */
  kind: z.enum(EVENT_KINDS).optional(),
  /** Only in a submit. */
  job: SubmittedJobSchema.optional(),
  /** The request id, or that of a job's end. */
  rid: z.string().regex(/^.{26}(\.end)?$/),
  /** Unix milliseconds of admission and of the end. */
  startedAt: z.number().int(),
  endedAt: z.number().int(),
  node: Word,
  /** Null when a wallet without an account pays. */
  account: Word.startsWith('acc_').nullable(),
  keyId: Word.nullable(),
  /** The budgets in which the gate counts the call. Absent without one. */
  budgets: z.array(Word).max(2).optional(),
  /** The wallet that pays for the call, with or without an account. Absent when an account pays with its credit. */
  wallet: z.string().min(1).max(100).optional(),
  rail: RailNameSchema,
  /** The data with which the rail finishes the payment in another process. Absent when the ids are enough. */
  payment: z
    .record(z.string(), z.unknown())
    .refine((payment) => JSON.stringify(payment).length <= MAX_PAYMENT_CHARS, 'too long')
    .optional(),
  wire: Word,
  endpoint: Word,
  /** Absent for the purchase of a model. */
  sold: SoldSchema.optional(),
  /** The canonical model, and the buyer's name for it. */
  model: Word,
  requestedModel: Word,
  /** The offer that answered. Null without one. */
  offer: Word.nullable(),
  sellerAccount: Word.nullable(),
  provider: Word.nullable(),
  servedBy: z.enum(SERVED_BY).nullable(),
  isStreamed: z.boolean(),
  /** `succeeded`, `failed` (error before content), `cut` (error after content) or `cancelled` (the buyer left). */
  outcome: z.enum(['succeeded', 'failed', 'cut', 'cancelled']),
  errorCode: Word.nullable(),
  finishReason: Word.nullable(),
  usage: UsageSchema,
  usageSource: z.enum(['reported', 'estimated']),
  /** Facts that look wrong, such as a clipped usage or an unpriced class, for the operator. */
  anomalies: z.array(Word).max(10),
  priceVersion: Word,
  /** The conditions of the applied prices, in words. Absent without any. */
  priceConditions: z.array(Word).max(MAX_PRICE_CONDITIONS).optional(),
  keptBps: KeptBpsNumber,
  feeBps: KeptBpsNumber,
  holdMicro: MicroUsdText,
  chargeMicro: MicroUsdText,
  listMicro: MicroUsdText,
  /** The provider's own cost, in pico-USD. Absent when the answer has none. */
  ownCostPico: PicoUsdText.optional(),
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

/** Parses the event in a text. Undefined for any other text. */
export function readUsageEvent(text: string): UsageEvent | undefined {
  return UsageEventSchema.safeParse(parseJson(text)).data
}

/** Request id and account of a call whose event is in the gate. */
const CapturedCallSchema = z.tuple([z.string(), z.string()])
export type CapturedCall = z.infer<typeof CapturedCallSchema>

/** A batch in the queue: calls whose events are in the gate, and the events of all others as strings, byte for byte. */
export const UsageBatchSchema = z.object({
  v: z.literal(1),
  id: z.string().startsWith('btc_'),
  node: z.string(),
  captured: z.array(CapturedCallSchema).default([]),
  events: z.array(z.string()),
})
export type UsageBatch = z.infer<typeof UsageBatchSchema>
