import type { Attempt, Explanation, Sold, UsageEvent } from '#shared/contract/usage-event.ts'
import {
  bigint,
  boolean,
  id,
  integer,
  json,
  nullable,
  oneOf,
  real,
  smallint,
  text,
  texts,
  timestamp,
  withDefault,
} from './column.ts'

const OUTCOMES: readonly UsageEvent['outcome'][] = ['succeeded', 'failed', 'cut', 'cancelled']
const USAGE_SOURCES: readonly UsageEvent['usageSource'][] = ['reported', 'estimated']

/** Tables of `0007_settlements.sql`. Amounts are micro-USD, durations milliseconds. */
export const SETTLEMENT_TABLES = {
  /** A finished call. A row is written once and never changed. */
  settlement: {
    /** The request id. */
    rid: text(),
    account: id('acc'),
    key_id: nullable(id('key')),
    seller_account: nullable(id('acc')),
    offer: nullable(text()),
    provider: nullable(text()),
    model: text(),
    requested_model: text(),
    wire: text(),
    endpoint: text(),
    rail: text<UsageEvent['rail']>(),
    served_by: nullable(text<NonNullable<UsageEvent['servedBy']>>()),
    node: text(),
    is_streamed: boolean(),
    outcome: oneOf(OUTCOMES),
    error_code: nullable(text()),
    finish_reason: nullable(text()),
    hold_amount: bigint(),
    charge: bigint(),
    list_cost: bigint(),
    seller_net: bigint(),
    fee: bigint(),
    fee_bps: smallint(),
    kept_bps: smallint(),
    price_version: text(),
    usage_source: oneOf(USAGE_SOURCES),
    input_tokens: bigint(),
    cache_read_tokens: bigint(),
    cache_write_tokens: bigint(),
    /** The part for caches of an hour or longer. */
    cache_write_long_tokens: withDefault(bigint()),
    output_tokens: bigint(),
    reasoning_tokens: bigint(),
    audio_input_tokens: bigint(),
    audio_output_tokens: bigint(),
    characters: bigint(),
    images: bigint(),
    pixels: bigint(),
    milliseconds: bigint(),
    calls: bigint(),
    ttft_ms: nullable(integer()),
    stream_ms: nullable(integer()),
    duration_ms: integer(),
    overhead_ms: real(),
    attempts: json<readonly Attempt[]>(),
    explanation: nullable(json<Explanation>()),
    anomalies: texts(),
    /**
     * SHA-256 of the event's bytes in hex. It distinguishes a repeat of the call from another call with the same id.
     */
    payload_hash: text(),
    started_at: timestamp(),
    captured_at: timestamp(),
    posted_at: withDefault(timestamp()),
    /** Parts of the tokens, images and time above. */
    image_input_tokens: withDefault(bigint()),
    image_output_tokens: withDefault(bigint()),
    images_2k: withDefault(bigint()),
    images_4k: withDefault(bigint()),
    milliseconds_1080p: withDefault(bigint()),
    milliseconds_4k: withDefault(bigint()),
    searches: withDefault(bigint()),
    /** The conditions of the applied price, in words. */
    price_conditions: withDefault(texts()),
    /** The provider's own cost, in pico-USD. Null when its answer has none. */
    own_cost_pico: nullable(bigint()),
    /** The purchased resource or family (`0067_sold_resources.sql`). */
    sold: nullable(json<Sold>()),
  },
  /**
   * Events whose request id was settled with other bytes. The first event counts, and a person reviews each of these.
   */
  usage_conflict: {
    rid: text(),
    payload_hash: text(),
    event: text(),
    source: text(),
    seen_at: withDefault(timestamp()),
    resolution_reason: nullable(text()),
    resolved_by: nullable(text()),
    resolved_at: nullable(timestamp()),
  },
  /** Events that cannot be posted, with their bytes. Their money stays reserved until a person decides. */
  usage_poison: {
    payload_hash: text(),
    rid: nullable(text()),
    reason: text(),
    detail: text(),
    event: text(),
    source: text(),
    first_seen_at: withDefault(timestamp()),
    last_seen_at: withDefault(timestamp()),
    times_seen: withDefault(integer()),
    resolution: nullable(oneOf(['retried', 'discarded'])),
    resolution_reason: nullable(text()),
    resolved_by: nullable(text()),
    resolved_at: nullable(timestamp()),
  },
  shortfall_note: { tx: text(), reason: text(), noted_by: text(), noted_at: withDefault(timestamp()) },
  job: {
    /** The request id of the submit. */
    rid: text(),
    account: id('acc'),
    seller_account: nullable(id('acc')),
    escrow_account: id('acc'),
    offer: nullable(text()),
    key_id: nullable(text()),
    provider_job: text(),
    quote: bigint(),
    /** The part of the quote that the buyer's balance covered. */
    paid: bigint(),
    /** The submit's event as captured. */
    event: text(),
    payload_hash: text(),
    deadline_at: timestamp(),
    posted_at: withDefault(timestamp()),
    ended_at: nullable(timestamp()),
    /** The provider that runs the job, as the event of the submit names the provider. */
    provider: withDefault(text()),
    /** The instant of the next poll. During a poll: the instant at which another worker may take over. */
    poll_at: withDefault(timestamp()),
    /** The worker that polls now. */
    asker: nullable(text()),
    polls: withDefault(integer()),
    /** Consecutive answers of the provider that it does not know the job. */
    unknown_polls: withDefault(integer()),
    /** The count of its files, and the instant at which its end was announced. */
    artifacts: nullable(integer()),
    told_at: nullable(timestamp()),
    /** The instants at which its buyer's stop and deletion were recorded here. */
    stopped_at: nullable(timestamp()),
    deleted_at: nullable(timestamp()),
    /** The end of the job in its shown form, sealed. Empty once the buyer has deleted the job. */
    shown: nullable(text()),
  },
  job_end: {
    /** The request id of the job. */
    rid: text(),
    event: text(),
    payload_hash: text(),
    source: text(),
    received_at: withDefault(timestamp()),
    booked_at: nullable(timestamp()),
  },
}
