import { describe, expect, it } from 'vitest'
import type { Mutant } from './mutants.ts'
import { planOf } from './plan.ts'
import type { ProductMutantName } from './product-mutants.ts'
import { runOperations } from './run.ts'
import { MUTANT_NAMES, runnerOf } from './runner.ts'

const OPERATIONS = 300
/** Each mutant has to be noticed within so many seeds. */
const MOST_SEEDS: Readonly<Record<Mutant | ProductMutantName, number>> = {
  insert_without_conflict: 10,
  ack_without_version: 40,
  expire_without_state: 20,
  capture_ignores_expired: 30,
  seed_without_version: 120,
  grant_above_available: 40,
  ack_before_commit: 60,
  cap_outside_script: 20,
  fee_rounded_apart: 5,
  progress_above_delivered: 20,
  hold_without_failover_price: 10,
  answer_before_sync: 60,
  failed_offer_keeps_its_cap: 5,
  cap_of_another_attempt_given_back: 5,
  serving_offer_keeps_its_cap: 5,
  failover_after_content: 5,
  cut_answer_is_free: 5,
  buyer_is_told_the_list_price: 5,
  failed_call_keeps_its_hold: 5,
  charge_without_a_record: 5,
}

describe('the simulation', () => {
  it('knows within how many seeds it has to notice each mutant', () => {
    expect(new Set(Object.keys(MOST_SEEDS))).toEqual(new Set(MUTANT_NAMES))
  })

  it.each(Object.entries(MOST_SEEDS))(
    'notices the mutant %s',
    async (mutant, most) => {
      const run = await runnerOf(mutant)
      let found: string | undefined
      let seed = 0
      while (found === undefined && seed < most) {
        seed += 1
        found = (await run(seed, planOf(seed, OPERATIONS))).error?.message
      }
      expect(found, `not in ${most} seeds`).toBeDefined()
      // Without the mutant the same run keeps every promise, so it was the mutant that broke one.
      expect((await runOperations(seed, planOf(seed, OPERATIONS))).error).toBeUndefined()
    },
    120_000,
  )
})
