import { CHAIN_RAILS } from '#shared/contract/chain-payments.ts'
import type { RequestId } from '#shared/ids.ts'
import { bigint, boolean, id, json, nullable, oneOf, text, timestamp, withDefault } from './column.ts'

/** The states of a payment by wallet; see services/payments/payment-states.ts. */
export const CHAIN_PAYMENT_STATES = ['claimed', 'due', 'mined', 'confirmed', 'released', 'written_off'] as const
export type ChainPaymentState = (typeof CHAIN_PAYMENT_STATES)[number]

/** Tables of `0022_chain_payments.sql` and those after it. Amounts are micro-USD. */
export const CHAIN_PAYMENT_TABLES = {
  chain_payment: {
    rid: text<RequestId>(),
    rail: oneOf(CHAIN_RAILS),
    network: text(),
    asset: text(),
    payer: text(),
    nonce: text(),
    account: id('acc'),
    amount: bigint(),
    due: nullable(bigint()),
    charge: nullable(bigint()),
    came: nullable(bigint()),
    event: nullable(text()),
    state: withDefault(oneOf(CHAIN_PAYMENT_STATES)),
    payload: json<Readonly<Record<string, unknown>>>(),
    requirement: json<Readonly<Record<string, unknown>>>(),
    body_digest: text(),
    valid_until: timestamp(),
    serve_until: timestamp(),
    tx_hash: nullable(text()),
    block: nullable(bigint()),
    reason: nullable(text()),
    claimed_at: withDefault(timestamp()),
    changed_at: withDefault(timestamp()),
    booked_at: nullable(timestamp()),
    cleared_at: nullable(timestamp()),
    sought_at: nullable(timestamp()),
    is_contract: withDefault(boolean()),
  },
  chain_sender: { address: text(), next_nonce: bigint() },
  chain_transaction: {
    hash: text(),
    sender: text(),
    nonce: bigint(),
    ref: text(),
    raw: text(),
    is_reverted: nullable(boolean()),
    mined_at: nullable(timestamp()),
    signed_at: withDefault(timestamp()),
    sent_at: nullable(timestamp()),
    dead_at: nullable(timestamp()),
  },
}
