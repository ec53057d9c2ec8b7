import type { AccountId } from '#shared/ids.ts'
import type { TransactionKind } from '#shared/ledger/transaction-kinds.ts'
import { bigint, boolean, id, integer, json, nullable, oneOf, text, timestamp, withDefault } from './column.ts'
import type { AuditNote } from './operations.ts'

const DEBIT_STATES = ['intended', 'posted', 'refused'] as const
export type DebitState = (typeof DEBIT_STATES)[number]

/** A line in JSON: signed micro-USD as plain digits. */
export type WrittenLine = { readonly account: AccountId; readonly amount: string }

/** Tables of `0006_ledger.sql`, with the columns that later files add. Amounts are micro-USD. */
export const LEDGER_TABLES = {
  ledger_tx: {
    /** A ULID; for a call it is the request id. */
    id: text(),
    kind: text(),
    note: nullable(text()),
    at: withDefault(timestamp()),
  },
  ledger_key: { key: text(), tx: text() },
  ledger_entry: {
    tx: text(),
    account: id('acc'),
    /** Signed, never zero. */
    amount: bigint(),
  },
  ledger_debit: {
    key: text(),
    account: id('acc'),
    amount: bigint(),
    tx: text(),
    kind: text<TransactionKind>(),
    note: nullable(text()),
    entries: json<readonly WrittenLine[]>(),
    audit: json<AuditNote>(),
    state: withDefault(oneOf(DEBIT_STATES)),
    hold_number: withDefault(integer()),
    is_freed: withDefault(boolean()),
    intended_at: withDefault(timestamp()),
    changed_at: withDefault(timestamp()),
  },
  money_epoch: {
    is_only: withDefault(boolean()),
    epoch: bigint(),
    harvested: withDefault(bigint()),
    raised_at: withDefault(timestamp()),
    beat: withDefault(bigint()),
    beat_at: withDefault(timestamp()),
    system_id: nullable(text()),
    timeline: nullable(integer()),
    restored_to: nullable(timestamp()),
    restored_at: nullable(timestamp()),
    held_at: nullable(timestamp()),
    joined_at: nullable(timestamp()),
  },
  node: {
    id: text(),
    first_seen_at: withDefault(timestamp()),
    last_seen_at: withDefault(timestamp()),
    retired_at: nullable(timestamp()),
  },
}
