import { expect, it } from 'vitest'
import { z } from 'zod'
import { readOperations } from '#test/support/facts/input-members.ts'

const OPERATIONS = [...(await readOperations()).values()]
/** Longer lines break in the lists of the reference. */
const MAX_SUMMARY_CHARS = 100
/** Names that only one door gives a member. */
const OF_ONE_DOOR = /\b(?:[a-z]+_(?:id|usd|usdc|micro|submit|items|token)|GraphQL|tRPC|\/v1\/)\b/

it('every operation has a summary of one line, and an about of whole sentences, for all doors', () => {
  expect(OPERATIONS.length).toBeGreaterThan(200)
  for (const { name, summary, about = 'None.' } of OPERATIONS) {
    expect(summary, name).toMatch(/^[A-Z][^\n]*[^.\s]$/)
    expect(summary.length, name).toBeLessThanOrEqual(MAX_SUMMARY_CHARS)
    expect(about, name).toMatch(/^\S.*\.$/s)
    expect(`${summary} ${about}`, name).not.toMatch(OF_ONE_DOOR)
  }
})

it('an example has members of its input, each with a valid value', () => {
  const examples = OPERATIONS.filter(({ example }) => example !== undefined)
  expect(examples.length).toBeGreaterThan(50)
  for (const { name, input, example = {} } of examples) {
    expect(input, name).toBeInstanceOf(z.ZodObject)
    const problems = input.safeParse(example).error?.issues ?? []
    // The path of a call supplies the members that an example leaves out.
    const wrong = problems.filter(({ path }) => path.length === 0 || String(path[0]) in example)
    expect(wrong, name).toEqual([])
  }
})
