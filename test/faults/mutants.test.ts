import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { MUTANTS } from './mutants/index.ts'
import { TEST_MUTANTS } from './mutants/test-mutants.ts'

/** The long runs build these. A text that moved would be met only there, hours later. */
describe('a mutant of the fault runs', () => {
  it.each([...MUTANTS, ...TEST_MUTANTS])('$name changes a text that stands in its file once', ({ file, find }) => {
    const source = readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')
    expect(source.split(find)).toHaveLength(2)
  })

  it.each(TEST_MUTANTS)('$name names a test file that exists', ({ caughtBy }) => {
    expect(existsSync(new URL(`../${caughtBy}.test.ts`, import.meta.url))).toBe(true)
  })
})
