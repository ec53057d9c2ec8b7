import { describe, expect, it } from 'vitest'
import { feeSplit, microOf } from '#control-plane/dashboard/market/fees/fee-split.ts'
import { keptBps, microUsd, splitCharge } from '#shared/money.ts'

describe('the sale that the page of fees calculates', () => {
  it('is split like a charge, to the micro-USD', () => {
    for (const list of [1n, 3n, 999_999n, 2_500_001n, 123_456_789n]) {
      for (const discount of [0, 1, 15, 40, 99]) {
        for (const bps of [0, 1, 500, 1_234, 10_000]) {
          const { paid, net, fee } = feeSplit(list, discount, bps)
          const split = splitCharge(microUsd(paid), keptBps(bps))
          expect([list, discount, bps, net, fee]).toEqual([list, discount, bps, split.sellerNet, split.fee])
          expect(paid * 100n).toBeGreaterThanOrEqual(list * BigInt(100 - discount))
          expect((paid - 1n) * 100n).toBeLessThan(list * BigInt(100 - discount))
        }
      }
    }
  })

  it('reads dollars without rounding, and refuses anything else', () => {
    expect([microOf('0.000001'), microOf(' 2.5 '), microOf('12')]).toEqual([1n, 2_500_000n, 12_000_000n])
    for (const text of ['', '0', '0.0000001', '1e3', '-1', '1,5', '01', 'x'])
      expect([text, microOf(text)]).toEqual([text, undefined])
  })
})
