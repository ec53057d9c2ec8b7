import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Sketch } from '#shared/sketch.ts'
import {
  EMPTY_SKETCH,
  mergeSketches,
  mergeStored,
  readSketch,
  SKETCH_ERROR,
  sketchOf,
  sketchQuantile,
  sketchSize,
  writeSketch,
} from '#shared/sketch.ts'

const values = fc.array(
  fc.oneof(fc.integer({ min: 0, max: 3_600_000 }), fc.double({ min: 1e-3, max: 1e9, noNaN: true })),
  {
    maxLength: 300,
  },
)
const asObject = (sketch: Sketch) => Object.fromEntries(sketch)
/** The rule of Postgres' percentile_disc. */
const exactQuantile = (numbers: readonly number[], q: number) =>
  [...numbers].sort((left, right) => left - right)[Math.max(1, Math.ceil(numbers.length * q)) - 1]

describe('a sketch', () => {
  it('answers any quantile within its error', () => {
    fc.assert(
      fc.property(values, fc.double({ min: 0, max: 1, noNaN: true }), (numbers, q) => {
        const found = sketchQuantile(sketchOf(numbers), q)
        const exact = exactQuantile(numbers, q)
        if (exact === undefined) expect(found).toBeUndefined()
        else expect(Math.abs((found ?? Number.NaN) - exact)).toBeLessThanOrEqual(exact * (SKETCH_ERROR + 1e-9))
      }),
    )
  })

  it('merges in any order and grouping into the sketch of all values', () => {
    fc.assert(
      fc.property(values, values, values, (a, b, c) => {
        const [left, middle, right] = [sketchOf(a), sketchOf(b), sketchOf(c)]
        const whole = asObject(sketchOf([...a, ...b, ...c]))
        expect(asObject(mergeSketches([mergeSketches([left, middle]), right]))).toEqual(whole)
        expect(asObject(mergeSketches([left, mergeSketches([middle, right])]))).toEqual(whole)
        expect(asObject(mergeSketches([right, left, middle]))).toEqual(whole)
        expect(asObject(mergeSketches([left, EMPTY_SKETCH]))).toEqual(asObject(left))
        expect(sketchSize(left) + sketchSize(middle)).toBe(a.length + b.length)
      }),
    )
  })

  it('is the same after being stored, and merges in the stored form as well', () => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        const [left, right] = [sketchOf(a), sketchOf(b)]
        expect(asObject(readSketch(writeSketch(left)))).toEqual(asObject(left))
        expect(asObject(mergeStored([writeSketch(left), writeSketch(right)]))).toEqual(asObject(sketchOf([...a, ...b])))
      }),
    )
    expect(() => readSketch(Buffer.alloc(5))).toThrow(RangeError)
  })
})
