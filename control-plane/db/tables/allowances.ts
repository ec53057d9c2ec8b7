import { bigint, id, integer, nullable, numeric, oneOf, text, timestamp, withDefault } from './column.ts'

export const LINE_STATES = ['open', 'stopped', 'closed'] as const
export type LineState = (typeof LINE_STATES)[number]
export const DRAW_STATES = ['planned', 'approved', 'settled', 'failed'] as const
export const PERMIT_STATES = ['signed', 'used', 'refused'] as const
export type PermitState = (typeof PERMIT_STATES)[number]

/** Tables of `0116_allowances.sql`. Amounts are micro-USD. */
export const ALLOWANCE_TABLES = {
  allowance_line: {
    account: id('acc'),
    wallet: text(),
    advance: id('acc'),
    chain_id: bigint(),
    asset: text(),
    treasury: text(),
    state: withDefault(oneOf(LINE_STATES)),
    reason: nullable(text()),
    balance: nullable(numeric()),
    allowance: nullable(numeric()),
    read_at: nullable(timestamp()),
    owed_since: nullable(timestamp()),
    failures: withDefault(integer()),
    retry_at: nullable(timestamp()),
    opened_at: withDefault(timestamp()),
    changed_at: withDefault(timestamp()),
  },
  allowance_draw: {
    id: id('drw'),
    account: id('acc'),
    wallet: text(),
    amount: bigint(),
    chain_id: bigint(),
    asset: text(),
    treasury: text(),
    state: withDefault(oneOf(DRAW_STATES)),
    reason: nullable(text()),
    deposit: nullable(id('dep')),
    tx_hash: nullable(text()),
    block: nullable(bigint()),
    planned_at: withDefault(timestamp()),
    changed_at: withDefault(timestamp()),
  },
  allowance_permit: {
    id: id('prm'),
    account: id('acc'),
    value: numeric(),
    nonce: numeric(),
    deadline: timestamp(),
    signature: text<`0x${string}`>(),
    state: withDefault(oneOf(PERMIT_STATES)),
    signed_at: withDefault(timestamp()),
    changed_at: withDefault(timestamp()),
  },
}
