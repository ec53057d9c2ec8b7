import type { LedgerFlaw } from '#test/sim/ledger/memory-ledger.ts'
import type { ScriptFlaw } from '#test/sim/redis/memory-scripts.ts'

/**
 * Deliberate faults of the simulated world itself, each with the largest number of seeds that may pass before it is
 * noticed.
 * `test/mutants` has those of the product's own code.
 */
export const FLAWS = {
  insert_without_conflict: 10,
  ack_without_version: 40,
  expire_without_state: 20,
  capture_ignores_expired: 100,
  seed_without_version: 200,
  grant_above_available: 40,
  ack_before_commit: 60,
  cap_outside_script: 20,
} as const
export type Flaw = keyof typeof FLAWS

const SCRIPT_FLAWS: readonly ScriptFlaw[] = [
  'ack_without_version',
  'seed_without_version',
  'expire_without_state',
  'capture_ignores_expired',
  'grant_above_available',
  'cap_outside_script',
]
const LEDGER_FLAWS: readonly LedgerFlaw[] = ['insert_without_conflict']

export function scriptFlaws(flaw: Flaw | undefined): ReadonlySet<ScriptFlaw> {
  return new Set(SCRIPT_FLAWS.filter((known) => known === flaw))
}

export function ledgerFlaws(flaw: Flaw | undefined): ReadonlySet<LedgerFlaw> {
  return new Set(LEDGER_FLAWS.filter((known) => known === flaw))
}
