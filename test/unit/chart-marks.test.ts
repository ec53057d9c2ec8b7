import { describe, expect, it } from 'vitest'
import { marksAt, placesOf } from '#control-plane/dashboard/charts/marks.ts'
import { niceTop } from '#control-plane/dashboard/charts/scale.ts'

const times = [100, 200, 300, 400]
const mark = (from: number, to: number | null) => ({ name: 'Slow', from, to })

describe('a mark of a chart', () => {
  it.each([
    ['within a bucket', mark(210, 250), [1, 1]],
    ['from one bucket into another', mark(150, 310), [0, 2]],
    ['that began before the first bucket', mark(10, 210), [0, 1]],
    ['that lasts on', mark(399, null), [2, 3]],
    ['that ends at the beginning of a bucket', mark(100, 200), [0, 1]],
    ['that ended before the first bucket', mark(10, 99), undefined],
  ])('lies at its own time: %s', (_name, given, places) => {
    expect(placesOf(given, times)).toEqual(places)
  })

  it('has its name at each of its places, and at no other', () => {
    const marks = [mark(210, 310), { ...mark(300, null), name: 'Slower' }]
    expect(times.map((_time, at) => marksAt({ marks, times }, at))).toEqual([
      [],
      ['Slow'],
      ['Slow', 'Slower'],
      ['Slower'],
    ])
    expect(marksAt({ times }, 1)).toEqual([])
  })

  it('is left out of a chart without instants', () => {
    expect(placesOf(mark(1, null), [])).toBeUndefined()
  })
})

it('an axis ends at a round number close above its highest value, and its half is whole for counts', () => {
  expect([0, 1, 3, 9, 16, 23, 25, 51, 1_280].map(niceTop)).toEqual([1, 2, 4, 10, 16, 24, 30, 60, 1_600])
  expect([0.03, 0.29].map(niceTop)).toEqual([0.04, 0.4])
})
