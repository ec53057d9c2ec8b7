import type { Edit } from '#test/support/replace-once.ts'
import { METERING_MUTANTS } from './metering.ts'
import { PAID_JOB_MUTANTS } from './paid-jobs.ts'
import { RESTORE_MUTANTS } from './restores.ts'
import { TREASURY_MUTANTS } from './treasury.ts'

/** A mistake in one place of one file, which a test file has to notice. */
export type TestMutant = Edit & {
  readonly name: string
  /** The test file below `test/`, without its ending. */
  readonly caughtBy: string
}

/** The mistakes that each have a test file of their own. */
export const TEST_MUTANTS: readonly TestMutant[] = [
  ...TREASURY_MUTANTS.map((mutant) => ({ ...mutant, caughtBy: `services/${mutant.caughtBy}` })),
  ...PAID_JOB_MUTANTS,
  ...METERING_MUTANTS,
  ...RESTORE_MUTANTS,
]
