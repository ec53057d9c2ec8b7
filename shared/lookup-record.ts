import type { LookupRecord } from './contract/lookup.ts'
import type { SettlementType } from './contract/rails.ts'
import { settlementTypeOf } from './contract/rails.ts'
import type { Attempt, Explanation, UsageEvent } from './contract/usage-event.ts'
import type { MediaUnits } from './media-units.ts'
import { mediaUnitsOf } from './media-units.ts'
import { cacheReadTokens, cacheWriteTokens, inputTokens, outputTokens } from './usage.ts'

/** The facts of a usage event. Amounts are bigints after reading and digits before writing. */
type EventFacts = Omit<UsageEvent, 'chargeMicro' | 'listMicro' | 'holdMicro' | 'sellerNetMicro' | 'feeMicro'> & {
  readonly chargeMicro: bigint | string
  readonly listMicro: bigint | string
}

/** The part of a look-up that an event cannot hold: the state of its payment. */
export type Standing = Pick<LookupRecord, 'settlement_status' | 'settlement_error' | 'confirmed_at' | 'tx_hash'>

/** The facts of a finished call that decide the state of its payment. */
export type EndedCall = {
  readonly charge: bigint
  readonly outcome: UsageEvent['outcome']
  readonly errorCode: string | null
  readonly rail: string
}

/**
 * The state of a finished call's payment. `postedAt` is the Unix milliseconds of its booking, if it was booked. A
 * failure stays visible whatever was charged, because an answer that is cut after content is paid up to that point.
 */
export function standingOf(call: EndedCall, postedAt: number | null): Standing {
  const isPaid = call.charge > 0n
  return {
    settlement_status: isPaid ? paidStatus(call.rail, postedAt) : call.outcome === 'failed' ? 'failed' : 'free',
    settlement_error: call.errorCode,
    confirmed_at: isPaid && postedAt !== null ? new Date(postedAt).toISOString() : null,
    tx_hash: null,
  }
}

function paidStatus(rail: string, postedAt: number | null): Standing['settlement_status'] {
  return postedAt !== null && settlementTypeOf(rail) !== 'credit' ? 'settled' : 'accrued'
}

/** The state of a running job: its quote is in escrow until the end of the job. */
export const RUNNING_JOB: Standing = {
  settlement_status: 'accrued',
  settlement_error: null,
  confirmed_at: null,
  tx_hash: null,
}

/** The known facts of a call before its end. */
type BegunCall = {
  readonly rid: string
  readonly model?: string | undefined
  readonly isStreamed?: boolean | undefined
  /** Unix milliseconds. */
  readonly startedAt: number
  readonly settlementType?: SettlementType
}

/** Makes the look-up record of a call without reported usage. */
export function begunRecordOf({ rid, model, isStreamed, startedAt, settlementType }: BegunCall): LookupRecord {
  return {
    request_id: rid,
    model: model ?? '',
    provider: null,
    served_by: null,
    settlement_status: 'pending',
    settlement_type: settlementType ?? 'credit',
    settlement_error: null,
    confirmed_at: null,
    buyer_cost_micro: 0,
    list_cost_micro: 0,
    tx_hash: null,
    attempts: [],
    created_at: startedAt,
    streamed: isStreamed ?? false,
    cancelled: false,
    finish_reason: null,
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0,
    ...mediaMembers(mediaUnitsOf({})),
    searches: 0,
    price_conditions: [],
    ttft_ms: null,
    duration_ms: 0,
    overhead_ms: null,
    routing: null,
  }
}

/** The attempts that a buyer may see. */
export function publicAttempts(attempts: readonly Attempt[]): LookupRecord['attempts'] {
  return attempts.map(({ provider, status, ms, connectMs = null, isResent = false }) => ({
    provider,
    status,
    ms,
    connect_ms: connectMs,
    resent: isResent,
  }))
}

/** Makes the look-up record of a call from its event. Both planes use it, each at its own stage of the settlement. */
export function lookupRecordOf(event: Omit<EventFacts, 'keptBps' | 'feeBps'>, standing: Standing): LookupRecord {
  return {
    request_id: event.rid,
    model: event.model,
    provider: event.provider,
    served_by: event.servedBy,
    settlement_type: settlementTypeOf(event.rail),
    ...standing,
    buyer_cost_micro: Number(event.chargeMicro),
    list_cost_micro: Number(event.listMicro),
    attempts: publicAttempts(event.attempts),
    created_at: event.startedAt,
    streamed: event.isStreamed,
    cancelled: event.outcome === 'cancelled',
    finish_reason: event.finishReason,
    input_tokens: inputTokens(event.usage),
    output_tokens: outputTokens(event.usage),
    cache_read_tokens: cacheReadTokens(event.usage),
    cache_write_tokens: cacheWriteTokens(event.usage),
    reasoning_tokens: event.usage.reasoning ?? 0,
    ...mediaMembers(mediaUnitsOf(event.usage)),
    searches: event.usage.searches ?? 0,
    price_conditions: [...(event.priceConditions ?? [])],
    ttft_ms: event.ttftMs,
    duration_ms: Math.max(0, event.endedAt - event.startedAt),
    overhead_ms: Math.round(event.overheadMs),
    routing: routingOf(event.explanation),
  }
}

/** A call's usage besides plain tokens, with a look-up's names. */
export function mediaMembers(units: MediaUnits) {
  return {
    image_input_tokens: units.imageInputTokens,
    image_output_tokens: units.imageOutputTokens,
    images: units.images,
    images_2k: units.images2k,
    images_4k: units.images4k,
    megapixels: units.megapixels,
    seconds: units.seconds,
    seconds_1080p: units.seconds1080p,
    seconds_4k: units.seconds4k,
    characters: units.characters,
  } satisfies Partial<LookupRecord>
}

/** The explanation of a call, with a look-up's names. */
export function routingOf(explanation: Explanation | null): LookupRecord['routing'] {
  if (explanation === null) return null
  const { affinity } = explanation
  return {
    offers: explanation.ranked.map(({ offer, provider, estimateMicro }) => ({
      offer,
      provider,
      estimate_micro: Number(estimateMicro),
    })),
    excluded: explanation.excluded.map(({ offer, reason }) => ({ offer, reason })),
    affinity: affinity === undefined ? null : { offer: affinity.offer, saving_micro: Number(affinity.savingMicro) },
  }
}
