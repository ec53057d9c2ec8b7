import type { KeyType } from '#shared/api-key.ts'
import {
  bigint,
  boolean,
  id,
  integer,
  made,
  nullable,
  oneOf,
  smallint,
  text,
  texts,
  timestamp,
  withDefault,
} from './column.ts'
import { MANAGEMENT_ROLES } from './organizations.ts'

const KEY_TYPES: readonly KeyType[] = ['buyer', 'seller', 'management']

/**
 * Tables of `0003_keys.sql`, `0110_page_sessions.sql`, `0208_playground.sql` and `0215_frozen_keys.sql`. A hash is an
 * HMAC in hex.
 */
export const KEY_TABLES = {
  api_key: {
    id: id('key'),
    type: oneOf(KEY_TYPES),
    scope: nullable(oneOf(['org', 'operator'])),
    user_id: nullable(id('usr')),
    workspace_id: nullable(id('wsp')),
    organization_id: nullable(id('org')),
    organization_role: nullable(oneOf(MANAGEMENT_ROLES)),
    made_by: nullable(id('usr')),
    hash: text(),
    key_prefix: text(),
    label: text(),
    min_discount_pct: nullable(smallint()),
    providers_blocked: withDefault(texts()),
    allows_untrusted: nullable(boolean()),
    cap_daily_micro: nullable(bigint()),
    cap_monthly_micro: nullable(bigint()),
    rate_per_minute: nullable(integer()),
    models_allowed: nullable(texts()),
    is_playground: withDefault(boolean()),
    created_at: timestamp(),
    last_used_at: nullable(timestamp()),
    expires_at: nullable(timestamp()),
    revoked_at: nullable(timestamp()),
    frozen_at: nullable(timestamp()),
  },
  key_former_secret: {
    hash: text(),
    key_id: id('key'),
    key_prefix: text(),
    replaced_at: timestamp(),
    expires_at: timestamp(),
  },
  key_session_secret: {
    hash: text(),
    key_id: id('key'),
    session_id: nullable(id('ses')),
    created_at: timestamp(),
    expires_at: timestamp(),
  },
  key_change: { seq: made(bigint()), key_id: id('key') },
  key_use_mark: { id: withDefault(boolean()), noted_until: timestamp() },
  used_nonce: { nonce: text(), expires_at: timestamp() },
  web_session: {
    id: id('ses'),
    hash: text(),
    user_id: nullable(id('usr')),
    key_id: nullable(id('key')),
    created_at: timestamp(),
    last_used_at: timestamp(),
    expires_at: timestamp(),
  },
  sign_in_code: { hash: text(), key_id: id('key'), created_at: timestamp(), expires_at: timestamp() },
}
