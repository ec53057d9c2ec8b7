import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decimal } from '#shared/decimal.ts'

describe('a decimal of integer parts', () => {
  it('equals the JSON of the quotient', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 14 }), fc.constantFrom(3, 6), (parts, decimals) => {
        expect(decimal(parts, decimals)).toBe(JSON.stringify(parts / 10 ** decimals))
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    [0, '0'],
    [1, '0.000001'],
    [1_500_000, '1.5'],
    [20_000_000, '20'],
    [1_000_001, '1.000001'],
  ])('%i millionths are %s', (parts, text) => expect(decimal(parts, 6)).toBe(text))
})
