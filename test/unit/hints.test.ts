import { describe, expect, it } from 'vitest'
import { parseFloor, readFloors, readHints, readMaxCost } from '#data-plane/wires/hints.ts'
import { AppError } from '#shared/errors.ts'

function codeOf(run: () => unknown): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    return error instanceof AppError ? error.code : 'a stranger'
  }
}

describe('routing hints', () => {
  it('reads a name, a list, the URL forms and the block list', () => {
    const hints = readHints({
      provider: ['a', 'b'],
      provider_url: 'https://c.example/v1',
      provider_base_url: 'd.example',
      providers_blocked: 'e',
      provider_order: ['b', 'a'],
      allow_untrusted: true,
    })
    expect(hints).toEqual({
      only: [['a', 'b'], ['https://c.example/v1'], ['d.example']],
      blocked: ['e'],
      order: ['b', 'a'],
      allowsUntrusted: true,
    })
  })

  it('reads the object form of other routers', () => {
    const provider = { only: ['a'], ignore: ['b'], order: ['c', 'd'], allow_fallbacks: false, sort: 'price' }
    expect(readHints({ provider })).toEqual({
      only: [['a'], ['c', 'd']],
      blocked: ['b'],
      isFastestFirst: false,
      order: ['c', 'd'],
      allowsUntrusted: undefined,
    })
  })

  it('accepts and ignores the members of the object form that tune nothing here', () => {
    const provider = { sort: 'throughput', max_price: { prompt: 1 }, zdr: false, data_collection: 'allow' }
    expect(readHints({ provider })).toMatchObject({ only: [], order: [] })
    expect(readHints({ provider: { allow_fallbacks: false } })).toMatchObject({ only: [], isFirstOnly: true })
  })

  it.each([
    ['price', false],
    [null, undefined],
    ['latency', true],
    ['throughput', true],
    [{ by: 'latency', partition: 'none' }, true],
  ])('reads %j as an order', (sort, isFastestFirst) => {
    expect(readHints({ provider: { sort } }).isFastestFirst).toBe(isFastestFirst)
  })

  it('reads an empty list as no hint', () => {
    expect(readHints({ provider: [], providers_blocked: [] })).toMatchObject({ only: [], blocked: [] })
    expect(readHints({ provider: { only: [], order: [] } })).toMatchObject({ only: [], order: [] })
  })

  it.each([
    { providers_blocked: {} },
    { providers_blocked: [5] },
    { provider: 5 },
    { provider: [''] },
    { provider: { sort: 'beauty' } },
    { provider: { sort: {} } },
    { provider_url: ['a'] },
    { provider_order: Array.from({ length: 10_000 }, () => 'a') },
    { allow_untrusted: 'yes' },
    { provider: { allow_fallbacks: 'no' } },
    { provider: { zdr: true } },
    { provider: { data_collection: 'deny' } },
    { provider: { quantizations: ['fp8'] } },
    { provider: { require_parameters: true } },
  ])('refuses the unreadable hint %j', (body) => {
    expect(codeOf(() => readHints(body))).toBe('invalid_request')
  })

  it.each([101, -1, 'abc', 5.5, '05', 1e9, true])('refuses the floor %j', (floor) => {
    expect(codeOf(() => readFloors({ min_discount_pct: floor }, {}, undefined))).toBe('invalid_minimum_discount')
  })

  it('reads floors from the body, a header and the path', () => {
    expect(readFloors({ min_discount_pct: 5 }, { 'x-min-discount': '90' }, 50)).toEqual([5, 90, 50])
    expect(readFloors({}, {}, undefined)).toEqual([])
    expect(readFloors({ min_discount_pct: null }, { 'x-min-discount': '90' }, undefined)).toEqual([
      undefined,
      90,
      undefined,
    ])
    for (const text of ['007', '5.5', '', '+5', '1e1'])
      expect(codeOf(() => parseFloor(text))).toBe('invalid_minimum_discount')
  })

  it('reads the ceiling of a call as whole micro-USD', () => {
    expect(readMaxCost({ 'x-mkt-max-cost-micro': '1500' })).toBe(1_500n)
    expect(readMaxCost({})).toBeUndefined()
    for (const text of ['-1', '1.5', '', '99999999999999999']) {
      expect(codeOf(() => readMaxCost({ 'x-mkt-max-cost-micro': text }))).toBe('invalid_request')
    }
  })
})
