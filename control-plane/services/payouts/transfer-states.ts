import type { TransferState } from '#control-plane/db/tables/treasury.ts'

/**
 * The events of a transfer. `hold`, `release` and `cancel`: an operator or a review takes it out of the line, puts it
 * back, or gives the money back. `sign`: the treasury lets the money go. `mine`: its use is in a block. `unmine`: that
 * block is gone. `confirm`: the block is deep enough. `lapse`: the signature has run out unused, and it is tried anew.
 * `expire`: the same, and it is not tried again. `orphan`: the chain that was to have it is gone, and nobody can use it on
 * the one that was accepted. `find`: a final block has it, and the ledger had lost that.
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

/** Null is a step that the state does not take: the state stays. */
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
 * gives its money back before the signature has run out.
 */
export const TRANSFER_STEPS: Readonly<Record<TransferState, Row>> = {
  scheduled: { ...NOTHING, hold: 'held', cancel: 'returned', sign: 'signed', find: 'paid' },
  held: { ...NOTHING, release: 'scheduled', cancel: 'returned', find: 'paid' },
  signed: { ...NOTHING, mine: 'mined', lapse: 'scheduled', expire: 'returned', orphan: 'returned', find: 'paid' },
  mined: { ...NOTHING, unmine: 'signed', confirm: 'paid', orphan: 'returned', find: 'paid' },
  paid: NOTHING,
  returned: NOTHING,
}

/** Reasons that stand beside a state. Operators and sellers read them. */
export const REASONS = {
  /** The amount is above the one that an operator has to approve. */
  approval: 'approval',
  operator: 'operator',
  /** The recipient is on the operator's list. */
  blocked: 'blocked_address',
  listUnreadable: 'list_unreadable',
  /** The treasury has too little at the moment. */
  low: 'treasury_low',
  /** The token would not move it to this recipient. */
  refused: 'recipient_refused',
  /** The signature ran out before a block had the transfer. */
  late: 'ran_out',
  /** The seller did not bring it to the chain in time. */
  unused: 'not_submitted',
  /** The ledger does not have it as it stands here. */
  mismatch: 'ledger_mismatch',
  treasuryChanged: 'treasury_changed',
  /** An operator accepted another chain, and it is in no block of that one. */
  chainReplaced: 'chain_replaced',
  /** The transfer has left, and the ledger had lost that. It ends with the block that has it. */
  gone: 'has_left',
  /** A transfer with the same name has left, which the ledger had lost. */
  outdated: 'planned_again',
} as const
