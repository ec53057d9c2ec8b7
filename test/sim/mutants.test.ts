import { describe, expect, it } from 'vitest'
import type { Mutant } from './mutants.ts'
import { MUTANTS } from './mutants.ts'
import { planOf } from './plan.ts'
import { runOperations } from './run.ts'

const OPERATIONS = 300
/** Within how many seeds each mutant has to be noticed. */
const MOST_SEEDS: Readonly<Record<Mutant, number>> = {
  insert_without_conflict: 10,
  ack_without_version: 40,
  expire_without_state: 20,
  capture_ignores_expired: 30,
  seed_without_version: 120,
  fee_rounded_apart: 5,
  grant_above_available: 40,
  progress_above_delivered: 20,
  hold_without_failover_price: 10,
  ack_before_commit: 60,
  cap_outside_script: 20,
}

describe('the simulation', () => {
  it.each(MUTANTS)(
    'notices the mutant %s',
    async (mutant) => {
      let found: string | undefined
      let seed = 0
      while (found === undefined && seed < MOST_SEEDS[mutant]) {
        seed += 1
        found = (await runOperations(seed, planOf(seed, OPERATIONS), { mutant })).error?.message
      }
      expect(found, `not in ${MOST_SEEDS[mutant]} seeds`).toBeDefined()
      // Without the mutant the same run is sound: nothing else was noticed.
      expect((await runOperations(seed, planOf(seed, OPERATIONS))).error).toBeUndefined()
    },
    120_000,
  )
})
