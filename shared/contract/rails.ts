import { z } from 'zod'

/**
 * A way to pay, by the name that holds, events and ledger rows carry. The set of names is open: a process that meets one
 * that it does not know says so, and touches no other rail's money for it.
 */
export const RailNameSchema = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/)
export type RailName = z.infer<typeof RailNameSchema>

/** Prepaid credit, held and captured in the gate. */
export const CREDIT_RAIL = 'credit'
/** A call to a provider of the buyer's own, which nobody is paid for. */
export const OWN_RAIL = 'own'

/** What look-ups call a settlement. */
export const SETTLEMENT_TYPES = ['credit', 'x402', 'mpp', 'allowance'] as const
export type SettlementType = (typeof SETTLEMENT_TYPES)[number]

const TYPE_BY_RAIL: ReadonlyMap<RailName, SettlementType> = new Map([
  [CREDIT_RAIL, 'credit'],
  // It is booked on the account beside what the account paid for.
  [OWN_RAIL, 'credit'],
  ['x402-exact', 'x402'],
  ['x402-upto', 'x402'],
  ['mpp', 'mpp'],
])

/** The settlement type of a rail; `credit` for a rail that this process does not know. */
export function settlementTypeOf(rail: RailName): SettlementType {
  return TYPE_BY_RAIL.get(rail) ?? 'credit'
}
