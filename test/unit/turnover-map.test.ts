import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTurnoverMap } from '#shared/turnover-map.ts'

const step = fc.record({ isSet: fc.boolean(), key: fc.nat(40), value: fc.nat() })

describe('a map whose entries come and go', () => {
  it('answers like a plain map, in the same order, through any number of renewals', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 2_000, size: 'max' }), (steps) => {
        const [plain, ours] = [new Map<number, number>(), createTurnoverMap<number, number>()]
        for (const { isSet, key, value } of steps) {
          if (isSet) {
            plain.set(key, value)
            ours.set(key, value)
          } else expect(ours.delete(key)).toBe(plain.delete(key))
          expect([ours.size(), ours.has(key), ours.get(key)]).toEqual([plain.size, plain.has(key), plain.get(key)])
        }
        expect([...ours.entries()]).toEqual([...plain.entries()])
        expect([...ours.values()]).toEqual([...plain.values()])
      }),
      { numRuns: 50 },
    )
  })

  it('iterates over the entries that it had at the start, although some are removed meanwhile', () => {
    const map = createTurnoverMap<number, number>()
    for (let key = 0; key < 500; key++) map.set(key, key)
    const seen: number[] = []
    for (const [key] of map.entries()) {
      seen.push(key)
      map.delete(key)
    }
    expect(seen).toHaveLength(500)
    expect(map.size()).toBe(0)
  })
})
