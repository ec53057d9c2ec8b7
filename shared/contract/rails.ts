import { z } from 'zod'

/**
 * A way to pay, by the name in holds, events and ledger rows. The set of names is open. A process that meets an unknown
 * name logs it and leaves that rail's money alone.
 */
export const RailNameSchema = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/)
export type RailName = z.infer<typeof RailNameSchema>

/** Prepaid credit, held and captured in the gate. */
export const CREDIT_RAIL = 'credit'
/** A call to a provider of the buyer's own. No seller is paid for it. */
export const OWN_RAIL = 'own'

/** The names of settlements in look-ups. */
export const SETTLEMENT_TYPES = ['credit', 'x402', 'mpp', 'allowance'] as const
export type SettlementType = (typeof SETTLEMENT_TYPES)[number]

const TYPE_BY_RAIL: ReadonlyMap<RailName, SettlementType> = new Map([
  [CREDIT_RAIL, 'credit'],
  // Such a call is booked on the account next to its paid calls.
  [OWN_RAIL, 'credit'],
  ['x402-exact', 'x402'],
  ['x402-upto', 'x402'],
  ['mpp', 'mpp'],
])

const CHAIN_TYPES: ReadonlySet<SettlementType | undefined> = new Set(['x402', 'mpp'])

/** True for a rail whose money a chain carries. */
export function isChainRail(rail: RailName): boolean {
  return CHAIN_TYPES.has(TYPE_BY_RAIL.get(rail))
}

/** The settlement type of a rail; `credit` for an unknown rail. */
export function settlementTypeOf(rail: RailName): SettlementType {
  return TYPE_BY_RAIL.get(rail) ?? 'credit'
}
