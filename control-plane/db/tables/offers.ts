import type { Endpoint } from '#shared/catalog/model.ts'
import type { HealthEvent } from '#shared/contract/health-event.ts'
import type { Pass } from '#shared/members/surcharge.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import {
  bigint,
  boolean,
  id,
  integer,
  json,
  made,
  nullable,
  oneOf,
  smallint,
  text,
  texts,
  timestamp,
  withDefault,
} from './column.ts'

const OFFER_STATUSES = ['active', 'paused', 'inactive'] as const
const PRICING_MODES = ['discount', 'cost_multiplier'] as const
const OPERATION_STATUSES = ['pending', 'running', 'succeeded', 'failed'] as const
/** The health events that the data plane reports. */
const REPORTED: readonly HealthEvent['action'][] = ['counted', 'backed_off', 'recovered', 'flagged']
export const HEALTH_ACTIONS = [...REPORTED, 'reset', 'credential_rotated', 'delisted', 'restored'] as const

export type ApiFormat = ProtocolName
export type OfferStatus = (typeof OFFER_STATUSES)[number]
export type PricingMode = (typeof PRICING_MODES)[number]
export type SellerOperationStatus = (typeof OPERATION_STATUSES)[number]
/** All events of an offer's health: from the data plane, probes, sellers and operators. */
export type HealthAction = (typeof HEALTH_ACTIONS)[number]

/** Tables of `0005_offers.sql`. Amounts are micro-USD. */
export const OFFER_TABLES = {
  credential: {
    id: id('crd'),
    tenant: id('acc'),
    host: text(),
    purpose: oneOf(['offer', 'resource', 'own-provider']),
    base_url: text(),
    fingerprint: text(),
    label: nullable(text()),
    sealed: json(),
    created_at: timestamp(),
    /** Set once the owner no longer wants the key to be reused. */
    forgotten_at: nullable(timestamp()),
  },
  offer: {
    id: id('ofr'),
    seller_account: id('acc'),
    model: text(),
    provider: text(),
    credential_id: id('crd'),
    fingerprint: text(),
    base_url: text(),
    api_format: text<ApiFormat>(),
    provider_model: text(),
    pricing_mode: oneOf(PRICING_MODES),
    kept_bps: smallint(),
    cap_daily_micro: nullable(bigint()),
    /** Members of requests that the seller allows. */
    passes: withDefault(texts<Pass>()),
    /** Endpoints of the model that the provider refused in a test call. */
    without_endpoints: withDefault(texts<Endpoint>()),
    /** Cost of all test calls. Null when the cost of one is unknown. */
    probe_cost_micro: nullable(bigint()),
    payout_address: nullable(text()),
    /** The instant of the address's last change; null for the address from the listing. */
    payout_address_since: nullable(timestamp()),
    label: nullable(text()),
    status: oneOf(OFFER_STATUSES),
    delisted_reason: nullable(text()),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  offer_cap_change: {
    id: made(bigint()),
    offer: text(),
    cap_daily_micro: nullable(bigint()),
    at: withDefault(timestamp()),
  },
  offer_probe: {
    credential_id: id('crd'),
    base_url: text(),
    next_at: timestamp(),
    failures: withDefault(integer()),
    last_at: nullable(timestamp()),
  },
  credential_token: {
    credential_id: id('crd'),
    sealed: nullable(json()),
    expires_at: nullable(timestamp()),
    next_at: timestamp(),
    failures: withDefault(integer()),
    failure: nullable(text()),
    forwarded_at: nullable(timestamp()),
  },
  seller_operation: {
    id: id('opn'),
    seller_account: id('acc'),
    kind: oneOf(['bulk_cancel']),
    status: oneOf(OPERATION_STATUSES),
    total: integer(),
    processed: withDefault(integer()),
    failed_count: withDefault(integer()),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  seller_operation_item: { operation: id('opn'), offer: id('ofr'), done_at: nullable(timestamp()) },
  buyer_preference: {
    account: id('acc'),
    allows_untrusted: boolean(),
    providers_blocked: texts(),
    min_discount_pct: nullable(smallint()),
    updated_at: timestamp(),
  },
  own_provider: {
    id: id('prv'),
    account: id('acc'),
    provider: text(),
    credential_id: id('crd'),
    model: nullable(text()),
    provider_model: nullable(text()),
    base_url: text(),
    api_format: text<ApiFormat>(),
    priority: integer(),
    label: nullable(text()),
    created_at: timestamp(),
  },
  health_log: {
    id: text(),
    at: timestamp(),
    node: text(),
    offer: text(),
    seller_account: nullable(id('acc')),
    model: text(),
    rid: nullable(text()),
    error_class: nullable(text()),
    status_code: nullable(integer()),
    detail: text(),
    action: oneOf(HEALTH_ACTIONS),
    backed_off_until: nullable(timestamp()),
    stored_at: withDefault(timestamp()),
  },
}
