import { expect, it } from 'vitest'
import { changeWords } from '#control-plane/dashboard/operator/audit/change-words.ts'
import { readOperations } from '#test/support/facts/input-members.ts'

const CHANGES = [...(await readOperations()).values()].filter(({ limit }) => limit === 'write' || limit === 'none')
const READS =
  /\.(?:list|read|get|search|find|share|open|challenge|export|download|compare|[a-z]*figures|[a-z]*series)$|^market\.|^stream/
/** The past of a verb, and a thing or a person. */
const SENTENCE = /^(?:[a-z]+ed|gave|held|ran|left|sent|set|took|withdrew|wrote off)(?: [a-z]|$)/

it('the audit has words for every change of the market, also in the past tense', () => {
  const changes = CHANGES.map(({ name }) => name).filter((name) => !READS.test(name))
  expect(changes.length).toBeGreaterThan(60)
  expect(changes.filter((name) => !SENTENCE.test(changeWords(name)))).toEqual([])
  expect(changeWords('offer.bulk-create')).toBe('listed an offer')
  expect(changeWords('key-session.create')).toBe('signed in with a key')
  // An entry of an older version may have an operation that has another name now.
  expect(changeWords('offer.forget')).toBe('forget an offer')
})
