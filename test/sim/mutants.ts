import type { LedgerFlaw } from './memory-ledger.ts'
import type { ScriptFlaw } from './memory-scripts.ts'

/** Deliberate faults of the simulated world; see product-mutants.ts for those of the product's own code. */
export const MUTANTS = [
  'insert_without_conflict',
  'ack_without_version',
  'expire_without_state',
  'capture_ignores_expired',
  'seed_without_version',
  'grant_above_available',
  'ack_before_commit',
  'cap_outside_script',
] as const
export type Mutant = (typeof MUTANTS)[number]

const SCRIPT_FLAWS: readonly ScriptFlaw[] = [
  'ack_without_version',
  'seed_without_version',
  'expire_without_state',
  'capture_ignores_expired',
  'grant_above_available',
  'cap_outside_script',
]
const LEDGER_FLAWS: readonly LedgerFlaw[] = ['insert_without_conflict']

export function scriptFlaws(mutant: Mutant | undefined): ReadonlySet<ScriptFlaw> {
  return new Set(SCRIPT_FLAWS.filter((flaw) => flaw === mutant))
}

export function ledgerFlaws(mutant: Mutant | undefined): ReadonlySet<LedgerFlaw> {
  return new Set(LEDGER_FLAWS.filter((flaw) => flaw === mutant))
}
