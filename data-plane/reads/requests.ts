import type { AccountPayer, Funds } from '#data-plane/payment.ts'
import type { OwnCall, OwnCalls, RunningCall } from '#data-plane/store/own-calls.ts'
import type { HoldRecord } from '#shared/contract/hold.ts'
import { OWNER_DIED } from '#shared/contract/hold.ts'
import type { LookupRecord } from '#shared/contract/lookup.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { parseAnswerId, ulidTime } from '#shared/ids.ts'
import { begunRecordOf, lookupRecordOf, RUNNING_JOB, standingOf } from '#shared/lookup-record.ts'
import { microUsd, microUsdToDollars } from '#shared/money.ts'
import type { TurnoverMap } from '#shared/turnover-map.ts'
import { bearerOf } from './bearer.ts'

export type LookupSources = {
  readonly funds: Pick<Funds, 'find'>
  readonly buyerKeys: { identify(key: string): Promise<AccountPayer> }
  /** Calls of this process that have not ended. */
  readonly running: Pick<TurnoverMap<RequestId, RunningCall>, 'get'>
  readonly ownCalls: Pick<OwnCalls, 'find'>
}

/**
 * The lookup record of a call, for the key or the wallet that paid it; undefined when Redis does not have it. Throws
 * AppError: `authentication_required`, `invalid_api_key`, `wrong_key_type`, `service_unavailable`, and `not_found` for
 * a text that is no request id.
 */
export async function findRequest(
  sources: LookupSources,
  authorization: string | undefined,
  id: string,
): Promise<LookupRecord | undefined> {
  const payer = await sources.buyerKeys.identify(bearerOf(authorization))
  const rid = parseAnswerId(id)
  if (rid === undefined) throw new AppError('not_found', { message: 'No call has this request id.' })
  const hold = await sources.funds.find(payer.account, rid)
  const running = sources.running.get(rid)
  const record = hold === undefined ? undefined : lookupOf(rid, hold, running)
  // A call to a buyer's own provider has no hold, or released its hold before the own provider took over.
  if (record !== undefined || (hold !== undefined && hold.state !== 'released')) return record
  if (running?.account === payer.account) return runningRecord(rid, running, ulidTime(rid))
  const own = await sources.ownCalls.find(payer.account, rid)
  return own && ownRecord(rid, own)
}

function ownRecord(rid: RequestId, own: OwnCall): LookupRecord | undefined {
  if (own.event === undefined) return runningRecord(rid, own, ulidTime(rid))
  const event = readUsageEvent(own.event)
  if (event === undefined) return undefined
  const { chargeMicro: charge, outcome, errorCode, rail } = event
  return lookupRecordOf(event, standingOf({ charge, outcome, errorCode, rail }, null))
}

/** The record of a call that ended, or the known facts of one that runs. */
function lookupOf(
  rid: string,
  hold: HoldRecord,
  running: Pick<RunningCall, 'model' | 'isStreamed'> | undefined,
): LookupRecord | undefined {
  const event = hold.event === null ? undefined : readUsageEvent(hold.event)
  if (event?.kind === 'submit') {
    // Only the ledger has the progress of a booked long job.
    if (hold.state === 'posted') return undefined
    return lookupRecordOf(event, RUNNING_JOB)
  }
  // A different event was booked than this one. Then the ledger counts.
  if (hold.state === 'posted' && hold.postedAt === null) return undefined
  if (event !== undefined) {
    const { chargeMicro: charge, outcome, errorCode, rail } = event
    return lookupRecordOf(event, standingOf({ charge, outcome, errorCode, rail }, hold.postedAt))
  }
  if (hold.state === 'posted') return undefined
  const isAbandoned = hold.state === 'expired' || hold.reason === OWNER_DIED
  // The hold was released before the end, because a provider of the buyer's own took over.
  if (hold.state === 'released' && !isAbandoned) {
    return running === undefined ? undefined : runningRecord(rid, running, hold.openedAt)
  }
  return {
    ...runningRecord(rid, running, hold.openedAt),
    settlement_status: hold.state === 'open' ? 'pending' : hold.state === 'captured' ? 'accrued' : 'failed',
    settlement_error: isAbandoned ? 'expired' : null,
    buyer_cost_micro: Number(hold.used ?? 0n),
  }
}

/** The record of a running call, as far as this process or its hold knows it. */
function runningRecord(
  rid: string,
  running: Pick<RunningCall, 'model' | 'isStreamed'> | undefined,
  startedAt: number,
): LookupRecord {
  return begunRecordOf({ rid, startedAt, ...running })
}

/** The same record in OpenRouter's shape: `GET /v1/generation?id=`. */
export function generationOf(record: LookupRecord): object {
  const cost = microUsdToDollars(microUsd(record.buyer_cost_micro))
  return {
    data: {
      id: record.request_id,
      model: record.model,
      request_id: record.request_id,
      provider_name: record.provider,
      created_at: new Date(record.created_at).toISOString(),
      streamed: record.streamed,
      cancelled: record.cancelled,
      latency: record.ttft_ms ?? record.duration_ms,
      generation_time: record.duration_ms,
      finish_reason: record.finish_reason,
      native_finish_reason: record.finish_reason,
      tokens_prompt: record.input_tokens,
      tokens_completion: record.output_tokens,
      native_tokens_prompt: record.input_tokens,
      native_tokens_completion: record.output_tokens,
      native_tokens_reasoning: record.reasoning_tokens,
      native_tokens_cached: record.cache_read_tokens,
      native_tokens_completion_images: record.image_output_tokens,
      num_media_completion: record.images,
      total_cost: cost,
      usage: cost,
      upstream_inference_cost: microUsdToDollars(microUsd(record.list_cost_micro)),
      is_byok: record.served_by === 'own_key' || record.served_by === 'fallback_key',
      provider_responses: record.attempts.map(({ provider, status, ms }) => ({
        provider_name: provider,
        status,
        latency: ms,
      })),
      api_type: 'completions',
      settlement_status: record.settlement_status,
      ...UNKNOWN_OF_GENERATION,
    },
  }
}

/** Members of OpenRouter's shape without a record here. Its clients require them. */
const UNKNOWN_OF_GENERATION = {
  app_id: null,
  cache_discount: null,
  data_region: 'global',
  external_user: null,
  http_referer: null,
  moderation_latency: null,
  num_fetches: null,
  num_input_audio_prompt: null,
  num_media_prompt: null,
  num_search_results: null,
  origin: '',
  preset_id: null,
  response_cache_source_id: null,
  router: null,
  service_tier: null,
  session_id: null,
  upstream_id: null,
  user_agent: null,
  web_search_engine: null,
  workspace_id: null,
}
