import type { TransferState } from '#control-plane/db/tables/treasury.ts'

/**
 * The events of a transfer. `hold`, `release` and `cancel`: an operator or a review takes it out of the queue, puts it
 * back, or returns the money. `sign`: the treasury signs it. `mine`: its use is in a block. `unmine`: that block is
 * gone. `confirm`: the block is deep enough. `lapse`: the signature expired unused, and the transfer is tried again.
 * `expire`: the signature expired unused, and the transfer ends. `orphan`: the chain that it was signed for is gone,
 * and the signature is useless on the accepted one. `find`: a final block has it, and the ledger had lost it.
 */
export type TransferEvent =
  | 'hold'
  | 'release'
  | 'cancel'
  | 'sign'
  | 'mine'
  | 'unmine'
  | 'confirm'
  | 'lapse'
  | 'expire'
  | 'orphan'
  | 'find'

type Row = Readonly<Record<TransferEvent, TransferState | null>>

/** Null for an event that leaves the state as it is. */
const NOTHING: Row = {
  hold: null,
  release: null,
  cancel: null,
  sign: null,
  mine: null,
  unmine: null,
  confirm: null,
  lapse: null,
  expire: null,
  orphan: null,
  find: null,
}

/**
 * The life of a transfer: the state after each event. A signed transfer may reach the chain at any time, so no event
 * returns its money before the signature has expired.
 */
export const TRANSFER_STEPS: Readonly<Record<TransferState, Row>> = {
  scheduled: { ...NOTHING, hold: 'held', cancel: 'returned', sign: 'signed', find: 'paid' },
  held: { ...NOTHING, release: 'scheduled', cancel: 'returned', find: 'paid' },
  signed: { ...NOTHING, mine: 'mined', lapse: 'scheduled', expire: 'returned', orphan: 'returned', find: 'paid' },
  mined: { ...NOTHING, unmine: 'signed', confirm: 'paid', orphan: 'returned', find: 'paid' },
  paid: NOTHING,
  returned: NOTHING,
}

/** Reasons beside a state, for operators and sellers. */
export const REASONS = {
  /** The amount is above the one that an operator has to approve. */
  approval: 'approval',
  operator: 'operator',
  /** The recipient is on the operator's list. */
  blocked: 'blocked_address',
  listUnreadable: 'list_unreadable',
  /** The treasury has too little at the moment. */
  low: 'treasury_low',
  /** The token refuses transfers to this recipient. */
  refused: 'recipient_refused',
  /** The signature expired before a block had the transfer. */
  late: 'ran_out',
  /** The seller did not submit it to the chain in time. */
  unused: 'not_submitted',
  /** The transfer differs from the ledger. */
  mismatch: 'ledger_mismatch',
  treasuryChanged: 'treasury_changed',
  /** An operator accepted another chain, and the transfer is in no block of that chain. */
  chainReplaced: 'chain_replaced',
  /** The transfer has left, and the ledger had lost it. It ends with its block. */
  gone: 'has_left',
  /** A transfer with the same name has left, and the ledger had lost that one. */
  outdated: 'planned_again',
} as const
