import { describe, expect, it } from 'vitest'
import { parseTrades, TradesText } from '#shared/contract/trades.ts'
import { microUsd } from '#shared/money.ts'

describe('published trades of a model', () => {
  it('are read by offer', () => {
    const text = TradesText.parse('ofr_1 3 1200,ofr_B-2 1 0')
    expect([...parseTrades(text)]).toEqual([
      ['ofr_1', { count: 3, volumeMicro: microUsd(1_200) }],
      ['ofr_B-2', { count: 1, volumeMicro: microUsd(0) }],
    ])
    expect(parseTrades(TradesText.parse('')).size).toBe(0)
  })

  it('are refused as a whole where any of them is damaged', () => {
    const damaged = [
      'ofr_1',
      'ofr_1 3',
      'ofr_1 3 1200,',
      ',ofr_1 3 1200',
      'ofr_1 3 1200 ofr_2 1 1',
      'ofr_1 0 1200',
      'ofr_1 3 -1',
      'ofr_1 3 1.5',
      'ofr_1 3 012',
      'ofr_1 3 999999999999999',
      'ofr_1 3 1200,ofr_2 1',
      'ofr_1 3 1200\n',
    ]
    expect(damaged.filter((text) => TradesText.safeParse(text).success)).toEqual([])
  })

  it('are checked in time linear in their length', () => {
    const text = Array.from({ length: 100_000 }, (_, index) => `ofr_${index} 3 1200`).join(',')
    expect(TradesText.safeParse(text).success).toBe(true)
    expect(TradesText.safeParse(`${text},ofr_x`).success).toBe(false)
  })
})
