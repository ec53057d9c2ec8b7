import type { RailName } from '#shared/contract/rails.ts'
import { CREDIT_RAIL, OWN_RAIL } from '#shared/contract/rails.ts'
import type { UsageEvent } from '#shared/contract/usage-event.ts'
import type { AccountId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { AccountKind } from '#shared/ledger/account-kinds.ts'
import { ACCOUNT_KINDS } from '#shared/ledger/account-kinds.ts'

/** How the events of one rail are booked. */
export type RailPosting = {
  /** The account whose balance a charge leaves; undefined where the event names nobody who can pay by this rail. */
  payerOf(event: UsageEvent): AccountId | undefined
  readonly payerKind: AccountKind
  /** True where nobody is paid: an event with a charge is set aside. */
  readonly isFree: boolean
  /** True where the gate counts a call until it hears that it is booked. */
  readonly isCountedInGate: boolean
}

/** Postings by the name of their rail. An event of a rail that stands in none is set aside. */
export type RailPostings = ReadonlyMap<RailName, RailPosting>

const byCredit: RailPosting = {
  payerOf: ({ account }) => (account !== null && isId('acc', account) ? account : undefined),
  payerKind: 'buyer_credit',
  isFree: false,
  isCountedInGate: true,
}

export const RAIL_POSTINGS: RailPostings = new Map([
  [CREDIT_RAIL, byCredit],
  [OWN_RAIL, { ...byCredit, isFree: true }],
])

/** True where the payer may not go below zero: what it lacks stands against the platform's shortfall. */
export function isBounded({ payerKind }: RailPosting): boolean {
  return ACCOUNT_KINDS[payerKind].bound === 'not_below_zero'
}
