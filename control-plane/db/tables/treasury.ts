import type { PayoutId, SweepId } from '#shared/ids.ts'
import { bigint, boolean, id, nullable, oneOf, text, timestamp, withDefault } from './column.ts'

/** The states of a transfer out of the treasury; see services/payouts/transfer-states.ts. */
export const TRANSFER_STATES = ['scheduled', 'held', 'signed', 'mined', 'paid', 'returned'] as const
export type TransferState = (typeof TRANSFER_STATES)[number]

export const TRANSFER_MODES = ['batched', 'self_submit'] as const
export type TransferMode = (typeof TRANSFER_MODES)[number]

export type TransferId = PayoutId | SweepId

/** Tables of `0080_payouts.sql`. Amounts are micro-USD. */
export const TREASURY_TABLES = {
  offer_earning: { offer: text(), seller: id('acc'), earned: bigint(), allocated: withDefault(bigint()) },
  treasury_transfer: {
    id: text<TransferId>(),
    purpose: oneOf(['payout', 'sweep']),
    seller: nullable(id('acc')),
    in_flight: nullable(id('acc')),
    recipient: text(),
    amount: bigint(),
    mode: oneOf(TRANSFER_MODES),
    state: withDefault(oneOf(TRANSFER_STATES)),
    reason: nullable(text()),
    nonce: text<`0x${string}`>(),
    chain_id: nullable(bigint()),
    asset: nullable(text()),
    treasury: nullable(text()),
    signature: nullable(text()),
    valid_until: nullable(timestamp()),
    signed_at_block: nullable(bigint()),
    batch: nullable(text()),
    tx_hash: nullable(text()),
    block: nullable(bigint()),
    planned_at: withDefault(timestamp()),
    changed_at: withDefault(timestamp()),
    ended_at: nullable(timestamp()),
    number: nullable(bigint()),
    found_at: nullable(timestamp()),
  },
  payout_item: { payout: text(), offer: text(), amount: bigint() },
  seller_stop: {
    id: text(),
    seller: id('acc'),
    reason: text(),
    set_at: withDefault(timestamp()),
    set_by: text(),
    cleared_at: nullable(timestamp()),
    cleared_by: nullable(text()),
  },
  payout_drain: { is_only: withDefault(boolean()), drained_at: timestamp() },
}
