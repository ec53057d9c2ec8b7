import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Sketch } from '#shared/sketch.ts'
import { mergeStored, readSketch, SKETCH_ERROR, sketchBucket, sketchQuantile, writeSketch } from '#shared/sketch.ts'

const values = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 3_600_000 }), fc.double({ min: 1e-3, max: 1e9, noNaN: true })),
  {
    maxLength: 300,
  },
)
/** The sketch of values, counted by hand. */
function sketchOf(numbers: readonly number[]): Sketch {
  const counts = new Map<number, number>()
  for (const number of numbers) counts.set(sketchBucket(number), (counts.get(sketchBucket(number)) ?? 0) + 1)
  return counts
}
const merged = (...sketches: readonly Sketch[]) => mergeStored(sketches.map(writeSketch))
const asObject = (sketch: Sketch) => Object.fromEntries(sketch)
/** The rule of Postgres' percentile_disc. */
const exactQuantile = (numbers: readonly number[], q: number) =>
  [...numbers].sort((left, right) => left - right)[Math.max(1, Math.ceil(numbers.length * q)) - 1]

describe('a sketch', () => {
  it('returns any quantile within its error', () => {
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (numbers, q) => {
        const found = sketchQuantile(sketchOf(numbers), q)
        const exact = exactQuantile(numbers, q)
        if (exact === undefined) expect(found).toBeUndefined()
        else expect(Math.abs((found ?? Number.NaN) - exact)).toBeLessThanOrEqual(exact * (SKETCH_ERROR + 1e-9))
      }),
    )
  })

  it('merges to the sketch of all values, in any order and grouping', () => {
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        const [left, middle, right] = [sketchOf(a), sketchOf(b), sketchOf(c)]
        const whole = asObject(sketchOf([...a, ...b, ...c]))
        expect(asObject(merged(merged(left, middle), right))).toEqual(whole)
        expect(asObject(merged(left, merged(middle, right)))).toEqual(whole)
        expect(asObject(merged(right, left, middle))).toEqual(whole)
        expect(asObject(merged(left, new Map()))).toEqual(asObject(left))
      }),
    )
  })

  it('is the same after storage', () => {
    fc.assert(
      fc.property(values, (numbers) => {
        const sketch = sketchOf(numbers)
        expect(asObject(readSketch(writeSketch(sketch)))).toEqual(asObject(sketch))
      }),
    )
    expect(() => readSketch(Buffer.alloc(5))).toThrow(RangeError)
  })
})
