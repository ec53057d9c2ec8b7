import type { OrganizationId } from '#shared/ids.ts'
import { bigint, boolean, id, integer, json, nullable, text, texts, timestamp, withDefault } from './column.ts'

/** A finding of the checker as stored with its run. */
export type StoredFinding = { readonly id: string; readonly state: 'ok' | 'breach' | 'none'; readonly detail: string }

/**
 * An audit row without its id and time: the actor, the operation, the subject, and the subject before and after. The
 * transaction that makes the change stamps it.
 */
export type AuditNote = {
  readonly actorKind: string
  readonly actor: string
  readonly keyId: string | null
  readonly operation: string
  readonly subject: string | null
  readonly before: object | null
  readonly after: object | null
  /** The organisation whose log holds the row. */
  readonly organization: OrganizationId | null
}

/** Tables of `0012_operations.sql`, and the migrator's own. */
export const OPERATION_TABLES = {
  idempotency: {
    tenant: text(),
    operation: text(),
    key: text(),
    request_hash: text(),
    answer: nullable(json()),
    claimed_at: timestamp(),
    lease_until: timestamp(),
    expires_at: timestamp(),
  },
  audit_log: {
    id: text(),
    at: timestamp(),
    actor_kind: text(),
    actor: text(),
    key_id: nullable(text()),
    operation: text(),
    subject: nullable(text()),
    before: nullable(json()),
    after: nullable(json()),
    organization: nullable(id('org')),
  },
  snapshot_document: {
    name: text(),
    version: bigint(),
    body_hash: text(),
    source: nullable(text()),
    published_at: timestamp(),
  },
  worker_lease: { name: text(), owner: text(), expires_at: timestamp() },
  feature_switch: { name: text(), is_on: boolean(), reason: text(), changed_at: timestamp(), changed_by: text() },
  rate_limit: {
    name: text(),
    per_key: integer(),
    per_wallet: nullable(integer()),
    changed_at: timestamp(),
    changed_by: text(),
  },
  invariant_run: {
    id: text(),
    started_at: timestamp(),
    took_ms: integer(),
    findings: json<readonly StoredFinding[]>(),
    breaches: texts(),
    /** The reason why there are no findings. */
    failure: nullable(text()),
  },
  money_finding: {
    kind: text(),
    subject: text(),
    detail: text(),
    first_seen_at: withDefault(timestamp()),
    last_seen_at: withDefault(timestamp()),
    times_seen: withDefault(integer()),
    gone_at: nullable(timestamp()),
  },
  payout_hold: {
    id: text(),
    reason: text(),
    set_at: withDefault(timestamp()),
    cleared_at: nullable(timestamp()),
    cleared_by: nullable(text()),
    clear_reason: nullable(text()),
  },
  migration: { name: text(), checksum: text(), ran_at: withDefault(timestamp()) },
}
