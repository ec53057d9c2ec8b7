import type { ChainPaymentState } from '#control-plane/db/tables/chain-payments.ts'
import type { PaymentStanding } from '#shared/contract/chain-payments.ts'

/**
 * The events of a payment. `charge`: the call told what it owes. `release`: it owes nothing. `mine`: the transfer is in
 * a block. `confirm`: the block is deep enough. `unmine`: the block is gone. `refuse`: the transfer can never be.
 * `underpay`: it is, and moved less than the call costs. `disprove`: the named transaction is none that pays us, and no
 * other can be. `appear`: a transfer that was given up, or that nobody wanted, is in a block all the same. `credit`: what
 * came by it was credited as a deposit.
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

/** Null is a step that the state does not take: the state stays. */
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
  // A facilitator of others may take too little, or name a transfer that is none.
  mined: { ...NOTHING, confirm: 'confirmed', underpay: 'written_off', unmine: 'due', disprove: 'written_off' },
  confirmed: NOTHING,
  // A claim can run out before a node comes back that served its call.
  released: { ...NOTHING, charge: 'due', appear: 'mined' },
  // A transfer that failed in a block comes about in another, or somebody sends it, until its authorization is over.
  written_off: { ...NOTHING, appear: 'mined' },
}

/** The word for each state in a buyer's view. */
export const STANDINGS: Readonly<Record<ChainPaymentState, PaymentStanding>> = {
  claimed: 'serving',
  due: 'pending',
  mined: 'settled',
  confirmed: 'settled',
  released: 'released',
  written_off: 'failed',
}
