import { describe, expect, it } from 'vitest'
import { everyBucket } from '#control-plane/dashboard/charts/every-bucket.ts'

const HOUR = 3_600_000
const row = (at: number) => ({ bucket: at * HOUR })
const hours = (rows: readonly { readonly bucket: number }[], from: number, to: number) =>
  everyBucket(rows, 'hour', { from: from * HOUR, to: to * HOUR }).map(([at, own]) => [at / HOUR, own !== undefined])

describe('the buckets of a chart', () => {
  it('cover the period, with and without calls', () => {
    expect(hours([row(12)], 10.5, 13.2)).toEqual([
      [11, false],
      [12, true],
      [13, false],
    ])
  })

  it('include rows outside of the period', () => {
    expect(hours([row(9), row(12)], 10, 11)).toEqual([
      [9, true],
      [10, false],
      [11, false],
      [12, true],
    ])
  })

  it('leave out rows of another period, which a screen still has while it loads', () => {
    expect(hours([row(12), row(50_000)], 12, 13)).toEqual([
      [12, true],
      [13, false],
    ])
  })

  it('are empty without calls', () => {
    expect(hours([], 10, 13)).toEqual([])
  })
})
