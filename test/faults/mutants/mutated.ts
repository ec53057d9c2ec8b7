import type { Plugin } from 'vitest/config'
import { replaceOnce } from '#test/support/replace-once.ts'
import { TREASURY_MUTANTS } from './treasury.ts'

/** Makes one mistake in one file while a test run loads it. Throws for a name that no mutant has. */
export function mutated(name: string): Plugin {
  const mutant = TREASURY_MUTANTS.find((one) => one.name === name)
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
