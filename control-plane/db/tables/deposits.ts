import { bigint, boolean, id, integer, json, nullable, numeric, oneOf, text, timestamp, withDefault } from './column.ts'

/** The kinds of the treasury's transfers; see services/deposits/take-moves.ts. */
export const MOVE_KINDS = ['new', 'deposit', 'payment', 'capital', 'payout', 'sweep', 'unknown'] as const
export type MoveKind = (typeof MOVE_KINDS)[number]

export const DEPOSIT_STATES = ['opened', 'signed', 'credited', 'refused', 'expired'] as const
export const DEPOSIT_METHODS = ['transfer', 'authorization', 'allowance'] as const

/**
 * Tables of `0095_deposits.sql`, `0096_reconciliation.sql`, `0129_known_chain.sql`, `0134_accepted_chain.sql`,
 * `0155_anybodys_transfers.sql`, `0156_permit_uses.sql`, `0157_former_treasuries.sql` and
 * `0158_departure_search.sql`. Amounts are micro-USD.
 */
export const DEPOSIT_TABLES = {
  treasury_cursor: {
    chain_id: bigint(),
    asset: text(),
    treasury: text(),
    first_block: bigint(),
    opening: bigint(),
    next_block: bigint(),
    balance: bigint(),
    proven_block: bigint(),
    proven_at: withDefault(timestamp()),
    misses: withDefault(integer()),
    difference: withDefault(bigint()),
    proven_hash: nullable(text()),
    anchor_block: nullable(bigint()),
    anchor_hash: nullable(text()),
    strange_since: nullable(timestamp()),
    era: withDefault(integer()),
    era_at: nullable(timestamp()),
    missing_since: nullable(timestamp()),
    reread_at: nullable(timestamp()),
    retired_at: nullable(timestamp()),
    is_opening_known: withDefault(boolean()),
  },
  treasury_move: {
    chain_id: bigint(),
    asset: text(),
    treasury: text(),
    era: withDefault(integer()),
    direction: oneOf(['in', 'out']),
    tx_hash: text(),
    place: integer(),
    block: bigint(),
    log_index: integer(),
    party: text(),
    amount: bigint(),
    nonce: nullable(text()),
    permit_nonce: nullable(text()),
    permit_by: nullable(text()),
    sought_among: nullable(oneOf(['paid_there', 'all'])),
    sought_after: nullable(text()),
    kind: withDefault(oneOf(MOVE_KINDS)),
    ref: nullable(text()),
    reason: nullable(text()),
    seen_at: withDefault(timestamp()),
    changed_at: withDefault(timestamp()),
  },
  stray_token: {
    chain_id: bigint(),
    token: text(),
    treasury: text(),
    transfers: bigint(),
    amount: numeric(),
    last_sender: text(),
    last_tx: text(),
    last_block: bigint(),
    first_seen_at: withDefault(timestamp()),
  },
  deposit: {
    id: id('dep'),
    account: id('acc'),
    method: oneOf(DEPOSIT_METHODS),
    sender: text(),
    amount: bigint(),
    state: oneOf(DEPOSIT_STATES),
    reason: nullable(text()),
    chain_id: bigint(),
    asset: text(),
    treasury: text(),
    nonce: nullable(text<`0x${string}`>()),
    valid_until: nullable(timestamp()),
    signature: nullable(text()),
    tx_hash: nullable(text()),
    block: nullable(bigint()),
    opened_at: withDefault(timestamp()),
    changed_at: withDefault(timestamp()),
    credited_at: nullable(timestamp()),
  },
  treasury_check: {
    id: text(),
    started_at: timestamp(),
    took_ms: integer(),
    block: nullable(bigint()),
    chain_balance: nullable(bigint()),
    moves_balance: nullable(bigint()),
    sums: json(),
    mismatches: json(),
    failure: nullable(text()),
  },
}
