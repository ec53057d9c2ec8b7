import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { NewSettlement, Poison } from '#control-plane/db/settlements.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import { jobOfEnd, UsageEventSchema } from '#shared/contract/usage-event.ts'
import type { AccountId, RequestId } from '#shared/ids.ts'
import { isId, parseRequestId } from '#shared/ids.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import { splitCharge, ZERO } from '#shared/money.ts'
import type { Usage } from '#shared/usage.ts'
import { cacheReadTokens, cacheWriteTokens, imageCount, usedTime } from '#shared/usage.ts'
import type { RailPosting, RailPostings } from './rail-postings.ts'
import { RAIL_POSTINGS } from './rail-postings.ts'

/** A valid event with its bytes, their SHA-256, and its payer under the rules of its rail. */
export type ReadEvent = {
  readonly event: UsageEvent
  readonly text: string
  readonly payloadHash: string
  readonly payer: AccountId
  readonly posting: RailPosting
}

/** Most stored characters of an event that cannot be posted. */
export const MAX_POISON_CHARS = 1_000_000

/** Reads the bytes of an event. Returns poison that names the broken rule when the event is not valid by itself. */
export function readEvent(text: string, source: string, postings: RailPostings = RAIL_POSTINGS): ReadEvent | Poison {
  const payloadHash = createHash('sha256').update(text).digest('hex')
  const refuse = (rid: string | null, reason: string, detail: string) =>
    poisonOf({ text, payloadHash }, { rid, reason, detail, source })
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return refuse(null, 'schema', 'not JSON')
  }
  const parsed = UsageEventSchema.safeParse(json)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    const detail = `${issue?.path.map(String).join('.') ?? ''}: ${issue?.code ?? 'invalid'}`
    return refuse(claimedCall(text)?.rid ?? null, 'schema', detail)
  }
  const event = parsed.data
  if (callOf(event) === undefined) return refuse(null, 'schema', 'rid: not a ULID')
  const posting = postings.get(event.rail)
  if (posting === undefined) return refuse(event.rid, 'rail', `rail: ${event.rail} is not posted here`)
  const broken = brokenRule(event, posting)
  if (broken !== undefined) return refuse(event.rid, broken.reason, broken.detail)
  const payer = posting.payerOf(event)
  if (payer === undefined) return refuse(event.rid, 'unknown_account', `account: none that pays by ${event.rail}`)
  return { event, text, payloadHash, payer, posting }
}

export function isPoison(read: ReadEvent | Poison): read is Poison {
  return 'reason' in read
}

/**
 * The request id of an event's call. The end of a job has the request id of its submit. Undefined for a malformed id.
 */
export function callOf({ kind, rid }: Pick<UsageEvent, 'kind' | 'rid'>): RequestId | undefined {
  return parseRequestId(kind === 'end' ? (jobOfEnd(rid) ?? '') : rid)
}

const ClaimedCall = z.object({ rid: z.string().min(26).max(30), account: z.string().max(80) })

/**
 * Reads only the request id and the account from an event that is otherwise unreadable, so that its hold can be freed.
 */
export function claimedCall(text: string): { readonly rid: string; readonly account: AccountId } | undefined {
  try {
    const { rid, account } = ClaimedCall.parse(JSON.parse(text))
    return isId('acc', account) ? { rid, account } : undefined
  } catch {
    return undefined
  }
}

/** An event as a row of the poison table. */
export function poisonOf(
  bytes: { readonly text: string; readonly payloadHash: string },
  why: Pick<Poison, 'rid' | 'reason' | 'detail' | 'source'>,
): Poison {
  // A text column of Postgres cannot hold NUL.
  const event = bytes.text.slice(0, MAX_POISON_CHARS).replaceAll('\0', '\\0')
  return { payloadHash: bytes.payloadHash, event, ...why }
}

/** A rule that an event breaks. */
export type Broken = { readonly reason: string; readonly detail: string }

/** Returns the money rule that the event breaks by itself, without looking at accounts. */
function brokenRule(event: UsageEvent, { isFree }: RailPosting): Broken | undefined {
  if (!isInstant(event.startedAt) || !isInstant(event.endedAt))
    return { reason: 'schema', detail: 'startedAt, endedAt' }
  if (event.chargeMicro > event.holdMicro) return { reason: 'over_hold', detail: 'chargeMicro: above holdMicro' }
  const isSubmit = event.kind === 'submit'
  if (isSubmit !== (event.job !== undefined)) return { reason: 'schema', detail: 'job: only and always in a submit' }
  if (isSubmit && event.chargeMicro !== event.holdMicro) {
    return { reason: 'sum_mismatch', detail: 'chargeMicro: not the whole quote' }
  }
  // A submit pays no seller yet.
  const { sellerNet, fee } = splitCharge(isSubmit ? ZERO : event.chargeMicro, event.feeBps)
  if (event.sellerNetMicro !== sellerNet || event.feeMicro !== fee) {
    return { reason: 'sum_mismatch', detail: `sellerNetMicro, feeMicro: expected ${sellerNet} and ${fee}` }
  }
  if (event.chargeMicro === ZERO) return undefined
  if (event.sellerAccount === null) return { reason: 'no_seller', detail: 'sellerAccount: null with a charge' }
  // The end of a job takes nothing from its payer: it splits what the submit took.
  if (isFree && event.kind !== 'end') return { reason: 'rail', detail: `rail: ${event.rail} charges nothing` }
  return undefined
}

/** The year 10000 in Unix milliseconds. Later instants do not fit the four-digit year of ISO 8601. */
const END_OF_TIME = 253_402_300_800_000

function isInstant(at: number): boolean {
  return at > 0 && at < END_OF_TIME
}

/** Returns the rule that the event breaks against the accounts that exist. */
export function brokenAccount(
  { event, payer, posting }: ReadEvent,
  kinds: ReadonlyMap<string, AccountKind>,
): Broken | undefined {
  const kind = kinds.get(payer)
  if (kind !== posting.payerKind) {
    return { reason: 'unknown_account', detail: `account: ${kind ?? 'none'} instead of ${posting.payerKind}` }
  }
  if (event.chargeMicro === ZERO || event.sellerAccount === null) return undefined
  const seller = kinds.get(event.sellerAccount)
  if (seller !== 'seller_available' && seller !== 'seller_pending') {
    return { reason: 'unknown_seller', detail: `sellerAccount: ${seller ?? 'none'} instead of a seller account` }
  }
  return undefined
}

/** The settlement row of an event. */
export function settlementOf({ event, payer, payloadHash }: ReadEvent): NewSettlement {
  return {
    rid: callOf(event) ?? event.rid,
    account: payer,
    key_id: event.keyId,
    seller_account: event.sellerAccount,
    offer: event.offer,
    provider: event.provider,
    model: event.model,
    requested_model: event.requestedModel,
    wire: event.wire,
    endpoint: event.endpoint,
    rail: event.rail,
    served_by: event.servedBy,
    node: event.node,
    is_streamed: event.isStreamed,
    outcome: event.outcome,
    error_code: event.errorCode,
    finish_reason: event.finishReason,
    hold_amount: event.holdMicro.toString(),
    charge: event.chargeMicro.toString(),
    list_cost: event.listMicro.toString(),
    own_cost_pico: event.ownCostPico?.toString() ?? null,
    seller_net: event.sellerNetMicro.toString(),
    fee: event.feeMicro.toString(),
    fee_bps: Number(event.feeBps),
    kept_bps: Number(event.keptBps),
    price_version: event.priceVersion,
    price_conditions: event.priceConditions ?? [],
    usage_source: event.usageSource,
    ...unitsOf(event.usage),
    ttft_ms: event.ttftMs,
    stream_ms: event.streamMs,
    duration_ms: Math.max(0, event.endedAt - event.startedAt),
    overhead_ms: event.overheadMs,
    attempts: event.attempts,
    explanation: event.explanation === null ? null : writeExplanation(event.explanation),
    anomalies: event.anomalies,
    payload_hash: payloadHash,
    started_at: new Date(event.startedAt).toISOString(),
    captured_at: new Date(event.endedAt).toISOString(),
    sold: event.sold ?? null,
  }
}

/** The units that a call used, by the columns of its settlement. */
function unitsOf(usage: Usage) {
  return {
    input_tokens: (usage.input ?? 0) + (usage.imageInput ?? 0),
    cache_read_tokens: cacheReadTokens(usage),
    cache_write_tokens: cacheWriteTokens(usage),
    cache_write_long_tokens: usage.cacheWriteLong ?? 0,
    output_tokens: (usage.output ?? 0) + (usage.imageOutput ?? 0),
    reasoning_tokens: usage.reasoning ?? 0,
    audio_input_tokens: usage.audioInput ?? 0,
    audio_output_tokens: usage.audioOutput ?? 0,
    image_input_tokens: usage.imageInput ?? 0,
    image_output_tokens: usage.imageOutput ?? 0,
    characters: usage.characters ?? 0,
    images: imageCount(usage),
    images_2k: usage.images2k ?? 0,
    images_4k: usage.images4k ?? 0,
    pixels: usage.pixels ?? 0,
    milliseconds: usedTime(usage),
    milliseconds_1080p: usage.milliseconds1080p ?? 0,
    milliseconds_4k: usage.milliseconds4k ?? 0,
    searches: usage.searches ?? 0,
    calls: usage.calls ?? 0,
  }
}

function writeExplanation(explanation: NonNullable<UsageEvent['explanation']>): object {
  const ranked = explanation.ranked.map((row) => ({ ...row, estimateMicro: row.estimateMicro.toString() }))
  const { excluded, affinity } = explanation
  if (affinity === undefined) return { ranked, excluded }
  return { ranked, excluded, affinity: { ...affinity, savingMicro: affinity.savingMicro.toString() } }
}
