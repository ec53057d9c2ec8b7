import type { ChainPaymentState } from '#control-plane/db/tables/chain-payments.ts'
import type { PaymentStanding } from '#shared/contract/chain-payments.ts'

/**
 * The events of a payment. `charge`: the call reported its charge. `release`: it owes nothing. `mine`: the transfer is
 * in a block. `confirm`: the block is deep enough. `unmine`: the block is gone. `refuse`: the transfer can never
 * happen. `underpay`: it moved less than the call costs. `disprove`: the named transaction does not pay us, and no
 * other can. `appear`: a transfer that was given up or not wanted is in a block after all. `credit`: its money was
 * credited as a deposit.
 */
export type PaymentEvent =
  | 'charge'
  | 'release'
  | 'mine'
  | 'confirm'
  | 'underpay'
  | 'unmine'
  | 'refuse'
  | 'disprove'
  | 'appear'
  | 'credit'

type Row = Readonly<Record<PaymentEvent, ChainPaymentState | null>>

/** Null for an event that leaves the state as it is. */
const NOTHING: Row = {
  charge: null,
  release: null,
  mine: null,
  confirm: null,
  underpay: null,
  unmine: null,
  refuse: null,
  disprove: null,
  appear: null,
  credit: null,
}

/** The life of a payment by wallet: the state after each event. */
export const PAYMENT_STATES: Readonly<Record<ChainPaymentState, Row>> = {
  claimed: { ...NOTHING, charge: 'due', release: 'released', credit: 'released' },
  due: { ...NOTHING, mine: 'mined', refuse: 'written_off', credit: 'released' },
  // A foreign facilitator may take too little, or name a transaction that is no transfer.
  mined: { ...NOTHING, confirm: 'confirmed', underpay: 'written_off', unmine: 'due', disprove: 'written_off' },
  confirmed: NOTHING,
  // A claim can expire before the node that served its call comes back.
  released: { ...NOTHING, charge: 'due', appear: 'mined' },
  // A transfer that failed in one block may succeed in another, or another sender may send it, until its authorization
  // expires.
  written_off: { ...NOTHING, appear: 'mined' },
}

/** The buyer's word for each state. */
export const STANDINGS: Readonly<Record<ChainPaymentState, PaymentStanding>> = {
  claimed: 'serving',
  due: 'pending',
  mined: 'settled',
  confirmed: 'settled',
  released: 'released',
  written_off: 'failed',
}
