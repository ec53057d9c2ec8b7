import type { Plugin } from 'vitest/config'
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
      if (code.split(mutant.find).length !== 2)
        throw new Error(`${mutant.file} has not exactly one \u00ab${mutant.find}\u00bb`)
      return { code: code.replace(mutant.find, () => mutant.replace), map: null }
    },
  }
}
