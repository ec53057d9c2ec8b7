import { METERING_MUTANTS } from './metering.ts'
import { PAID_JOB_MUTANTS } from './paid-jobs.ts'
import { RESTORE_MUTANTS } from './restores.ts'
import type { TestMutant } from './test-mutant.ts'
import { TREASURY_MUTANTS } from './treasury.ts'

/** The mistakes that each have a test file of their own. */
export const TEST_MUTANTS: readonly TestMutant[] = [
  ...TREASURY_MUTANTS.map((mutant) => ({ ...mutant, caughtBy: `services/${mutant.caughtBy}` })),
  ...PAID_JOB_MUTANTS,
  ...METERING_MUTANTS,
  ...RESTORE_MUTANTS,
]
