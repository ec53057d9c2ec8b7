import { CHAIN_RAILS } from '#shared/contract/chain-payments.ts'
import type { RailName } from '#shared/contract/rails.ts'
import { CREDIT_RAIL, OWN_RAIL } from '#shared/contract/rails.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import { ACCOUNT_KINDS } from '#shared/ledger/account-kinds.ts'

/** The booking of one rail's events. */
export type RailPosting = {
  /** The account that pays a charge; undefined for an event without a payer for this rail. */
  payerOf(event: UsageEvent): AccountId | undefined
  readonly payerKind: AccountKind
  /** True for a rail without charges. Its events with a charge are set aside for an operator. */
  readonly isFree: boolean
  /** True for a rail whose payers are wallets. The account of a wallet is made again where the ledger has lost it. */
  readonly isOfWallet: boolean
  /** True when the gate counts a call as unposted until the ack of the booking. */
  readonly isCountedInGate: boolean
}

/** Postings by rail name. An event of a rail without a posting is set aside. */
export type RailPostings = ReadonlyMap<RailName, RailPosting>

const byCredit: RailPosting = {
  payerOf: ({ account }) => (account !== null && isId('acc', account) ? account : undefined),
  payerKind: 'buyer_credit',
  isFree: false,
  isOfWallet: false,
  isCountedInGate: true,
}

/** A wallet's call is charged to the account that its transfer has just filled. */
const byChain: RailPosting = { ...byCredit, isOfWallet: true, isCountedInGate: false }

export const RAIL_POSTINGS: RailPostings = new Map<RailName, RailPosting>([
  [CREDIT_RAIL, byCredit],
  [OWN_RAIL, { ...byCredit, isFree: true }],
  // The queue delivers free calls only. A charge is booked with its payment, in services/payments.
  ...CHAIN_RAILS.map((rail) => [rail, { ...byChain, isFree: true }] as const),
])

/** The postings for events that are booked with their payment. */
export const PAYMENT_POSTINGS: RailPostings = new Map(CHAIN_RAILS.map((rail) => [rail, byChain]))

/** True when the payer may not go below zero. The platform's shortfall covers the rest of a charge. */
export function isBounded({ payerKind }: RailPosting): boolean {
  return ACCOUNT_KINDS[payerKind].bound === 'not_below_zero'
}
