import { describe, expect, it } from 'vitest'
import type { Bucket } from '#control-plane/dashboard/buyer/activity/activity-figures.ts'
import {
  formerSeriesOf,
  OTHER,
  REST,
  seriesOf,
  sumsOf,
  topOf,
  totalOf,
} from '#control-plane/dashboard/buyer/activity/activity-figures.ts'
import { changeFrom } from '#control-plane/dashboard/ui/change-from.ts'

const DAY = 86_400_000

const bucketOf = (day: number, group: string, requests: number): Bucket => ({
  bucket: day * DAY,
  group,
  isRest: false,
  requests,
  failedRequests: 1,
  buyerCostMicro: requests * 10,
  listCostMicro: requests * 15,
  inputTokens: requests,
  outputTokens: 0,
  cacheReadTokens: 0,
})

describe('a change from the period before', () => {
  it.each([
    [100, 150, '+50%', 'up 50%'],
    [100, 50, '−50%', 'down 50%'],
    [3, 4, '+33.3%', 'up 33.3%'],
    [10, 109, '+990%', 'up 990%'],
    [10, 200, '×20', '20 times as much'],
    [100, 0, '−100%', 'down 100%'],
    [7, 7, 'same', 'unchanged'],
    [100_000, 100_001, 'same', 'about unchanged'],
    [0, 0, 'same', 'unchanged'],
    [0, 5, 'new', 'none in the period before'],
  ])('from %d to %d is shown with its sign, and said in words', (before, now, shown, words) => {
    expect(changeFrom(before, now)).toEqual({ shown, words })
  })

  it('is nothing where a figure is unknown', () => {
    expect(changeFrom(null, 5)).toBeUndefined()
    expect(changeFrom(5, null)).toBeUndefined()
  })
})

describe('the line of the period before', () => {
  const before = [bucketOf(1, 'a', 4), bucketOf(1, 'b', 2), bucketOf(3, 'a', 1)]
  const times = [31, 32, 33].map((day) => day * DAY)
  const choice = { figure: 'calls', lengthMs: 30 * DAY } as const

  it('is at the same place of its period, with all groups together and zero between them', () => {
    expect(formerSeriesOf(before, times, { ...choice, isCumulative: false })).toMatchObject({
      isFormer: true,
      values: [6, 0, 1],
    })
  })

  it('adds up as the lines of this period do', () => {
    expect(formerSeriesOf(before, times, { ...choice, isCumulative: true }).values).toEqual([6, 6, 7])
  })
})

describe('the groups that the market does not list', () => {
  const rest = { ...bucketOf(31, '', 900), group: null, isRest: true }
  const none = { ...bucketOf(31, '', 3), group: null }
  const buckets = [rest, none, bucketOf(31, 'a', 2)]

  it('are the last row, beside calls that no provider served', () => {
    expect(sumsOf(buckets).map(({ group, calls }) => [group, calls])).toEqual([
      ['', 3],
      ['a', 2],
      [REST, 900],
    ])
    expect(totalOf(buckets).calls).toBe(905)
  })

  it('share the line of others, however large they are', () => {
    const choice = { figure: 'calls', isCumulative: false, nameOf: (group: string) => group || 'none' } as const
    expect(seriesOf(buckets, [31 * DAY], choice)).toEqual([
      { name: 'none', values: [3] },
      { name: 'a', values: [2] },
      { name: OTHER, values: [900] },
    ])
  })

  it('leave so many groups that an answer has all of its buckets', () => {
    for (const days of [1, 2, 7, 30, 90, 366]) {
      for (const interval of days <= 2 ? (['hour', 'day'] as const) : (['day'] as const)) {
        const intervals = days * (interval === 'hour' ? 24 : 1) + 1
        expect(topOf(interval, days * DAY)).toBeGreaterThan(10)
        expect((topOf(interval, days * DAY) + 1) * intervals).toBeLessThanOrEqual(5_000)
      }
    }
  })
})

describe('sums', () => {
  const now = [bucketOf(31, 'a', 2), bucketOf(32, 'a', 1), bucketOf(32, 'b', 9)]

  it('are of all groups, and of each with the highest spending first', () => {
    expect(totalOf(now)).toMatchObject({ calls: 12, failed: 3, spent: 120, saved: 60, input: 12 })
    expect(sumsOf(now).map(({ group, calls }) => [group, calls])).toEqual([
      ['b', 9],
      ['a', 3],
    ])
  })

  it('have a line without calls for a group that only the period before has', () => {
    expect(sumsOf(now, ['gone', 'a']).map(({ group, calls }) => [group, calls])).toEqual([
      ['b', 9],
      ['a', 3],
      ['gone', 0],
    ])
  })
})
