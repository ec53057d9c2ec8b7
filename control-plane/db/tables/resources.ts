import { bigint, boolean, id, integer, json, nullable, oneOf, smallint, text, texts, timestamp } from './column.ts'

/** `delisted` is final: its seller may list the key anew. */
const LENT_STATUSES = ['active', 'paused', 'delisted'] as const
export type LentStatus = (typeof LENT_STATUSES)[number]

/** Tables of `0065_resources.sql` and `0066_lent_offers.sql`. */
export const RESOURCE_TABLES = {
  resource: { id: text(), kind: oneOf(['resource', 'family']), version: integer(), updated_at: timestamp() },
  resource_version: {
    resource: text(),
    version: integer(),
    record: json(),
    source: text(),
    actor: text(),
    created_at: timestamp(),
  },
  lent_offer: {
    id: id('ofr'),
    seller_account: id('acc'),
    resource: text(),
    credential_id: id('crd'),
    fingerprint: text(),
    sealed: nullable(json()),
    purged_at: nullable(timestamp()),
    kept_bps: smallint(),
    cap_daily_micro: nullable(bigint()),
    label: nullable(text()),
    models: nullable(texts()),
    methods: nullable(texts()),
    paths: nullable(texts()),
    rate_per_minute: nullable(integer()),
    buyer_share_pct: nullable(smallint()),
    traits_declared: texts(),
    traits_probed: texts(),
    acknowledged_at: timestamp(),
    status: oneOf(LENT_STATUSES),
    delisted_reason: nullable(text()),
    created_at: timestamp(),
    updated_at: timestamp(),
  },
  every_offer: {
    id: id('ofr'),
    seller_account: id('acc'),
    cap_daily_micro: nullable(bigint()),
    is_listed: boolean(),
  },
}
