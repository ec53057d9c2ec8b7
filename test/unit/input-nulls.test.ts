import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { parseInput } from '#control-plane/operation/parse-input.ts'
import { refusalOf } from '#test/support/bytes/refusal.ts'
import { membersOf, readOperations, sampleOf, withMember } from '#test/support/facts/input-members.ts'

const OPERATIONS = await readOperations()

/** An optional member, and an input that is valid without it. */
const OPTIONAL = [...OPERATIONS.values()].flatMap(({ name, input }) => {
  const whole = sampleOf(input)
  if (!input.safeParse(whole).success) return []
  return membersOf(input)
    .filter(({ path }) => path.length === 1 && !(String(path[0]) in Object(whole)))
    .map(({ path }) => ({ name, input, whole, path }))
})

describe('a null in an input', () => {
  it('is accepted for every optional member of every operation', () => {
    expect(OPTIONAL.length).toBeGreaterThan(200)
    for (const { name, input, whole, path } of OPTIONAL) {
      const given = withMember(whole, path, null)
      expect(() => parseInput(input, given), `${name} ${path.join('.')}`).not.toThrow()
    }
  })

  const Input = z.strictObject({
    label: z.string(),
    pct: z.number().int().optional(),
    sort: z.enum(['a', 'b']).default('a'),
    cap: z.number().nullish(),
    rows: z.array(z.strictObject({ pct: z.number().optional() })).optional(),
  })

  it('means a member that is left out, or a value of its own, at any depth', () => {
    const given = { label: 'x', pct: null, sort: null, cap: null, rows: [{ pct: 1 }, { pct: null }] }
    expect(parseInput(Input, given)).toEqual({ label: 'x', sort: 'a', cap: null, rows: [{ pct: 1 }, {}] })
    expect(given.pct).toBeNull()
  })

  it('leaves a required member missing, and hides no other fault', async () => {
    const codeAt = async (raw: unknown) => {
      const { code, param } = await refusalOf((async () => parseInput(Input, raw))())
      return [code, param]
    }
    expect(await codeAt({ label: null })).toEqual(['invalid_request', 'label'])
    expect(await codeAt({ label: 'x', pct: null, cap: 'y' })).toEqual(['invalid_request', 'cap'])
    expect(await codeAt({ label: 'x', rows: [null] })).toEqual(['invalid_request', 'rows.0'])
    expect(await codeAt(null)).toEqual(['invalid_request', undefined])
  })
})
