import type { Plugin } from 'vitest/config'
import type { Edit } from '#test/support/replace-once.ts'
import { replaceOnce } from '#test/support/replace-once.ts'
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

/** The mistakes that test runs make while the code is loaded. */
export const TEST_MUTANTS: readonly TestMutant[] = [
  ...TREASURY_MUTANTS.map((mutant) => ({ ...mutant, caughtBy: `services/${mutant.caughtBy}` })),
  ...PAID_JOB_MUTANTS,
  ...METERING_MUTANTS,
  ...RESTORE_MUTANTS,
]

/** Makes one mistake in one file while a test run loads it. Throws for a name that no mutant has. */
export function mutated(name: string): Plugin {
  const mutant = TEST_MUTANTS.find((one) => one.name === name)
  if (mutant === undefined) throw new Error(`there is no mutant ${name}`)
  return {
    name,
    enforce: 'pre',
    transform(code, id) {
      if (!id.endsWith(`/${mutant.file}`)) return undefined
      return { code: replaceOnce(code, mutant), map: null }
    },
  }
}
