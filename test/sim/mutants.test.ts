import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { huntOf, MOST_SEEDS } from './hunts.ts'
import { readKeptCases } from './kept-cases.ts'
import { LONG_MUTANTS } from './long-mutants.ts'
import { createRunners, MUTANT_NAMES, seekNotice } from './runner.ts'

const kept = readKeptCases()
const runners = createRunners()
afterAll(() => runners.close())

describe('the simulation', () => {
  it('knows within how many seeds it has to notice each mutant', () => {
    expect(new Set(Object.keys(MOST_SEEDS))).toEqual(new Set(MUTANT_NAMES))
  })

  it.each(Object.entries(MOST_SEEDS))(
    'notices the mutant %s',
    async (mutant, most) => {
      const found = await seekNotice(await runners.of(mutant), huntOf(mutant, most, kept))
      expect(found, `not in ${most} seeds`).toBeDefined()
    },
    120_000,
  )
})

/** The long run builds these. A text that moved would be met only there. */
describe('a mutant of the long run', () => {
  it.each(LONG_MUTANTS)('$name changes texts that stand in their files once', ({ edits }) => {
    for (const { file, find } of edits) {
      const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
      expect(source.split(find)).toHaveLength(2)
    }
  })
})
