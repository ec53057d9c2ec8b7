import { describe, expect, it } from 'vitest'
import { placeServed, routeReasonOf } from '#control-plane/dashboard/data/route-taken.ts'

const offer = (provider: string, estimateMicro: number) => ({ provider, estimateMicro })
const attempt = (provider: string, status = 200) => ({ provider, status })
const offers = [offer('a', 10), offer('b', 20), offer('a', 30)]

describe('the route that a call took', () => {
  it.each([
    ['the first', offers, [attempt('a')], [0, 'The call went to the lowest-priced of 3 offers that could serve it.']],
    ['the only one', [offer('a', 10)], [attempt('a')], [0, 'The call went to the only offer that could serve it.']],
    ['one behind an offer that was passed over', offers, [attempt('b')], [1, 'ahead of 2 others']],
    [
      'another offer of the provider that failed',
      offers,
      [attempt('a', 500), attempt('a')],
      [2, 'The call went to this offer after 1 attempt at others failed.'],
    ],
    [
      'the third offer, after two failures',
      offers,
      [attempt('a', 0), attempt('b', 503), attempt('a')],
      [2, 'after 2 attempts at others failed'],
    ],
    ['no offer, as all failed', offers, [attempt('a', 500), attempt('b', 0)], [undefined, 'No offer served the call.']],
    ['no offer, as none was tried', offers, [], [undefined, 'No offer served the call.']],
  ] as const)('is described for %s', (_name, given, attempts, [place, reason]) => {
    expect(placeServed({ offers: given, attempts })).toBe(place)
    expect(routeReasonOf({ offers: given, attempts })).toContain(reason)
  })
})
