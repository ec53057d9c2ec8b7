import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  add,
  chargeUp,
  dollarsToMicroUsd,
  formatUnitPrice,
  KEEP_ALL,
  keptBps,
  microUsd,
  microUsdToDollars,
  parseMicroUsd,
  parseUnitPrice,
  picoUsd,
  splitCharge,
  subtract,
  unitsWithin,
  ZERO,
} from '#shared/money.ts'

const amounts = fc.bigInt({ min: 0n, max: 99_999_999_999_999n }).map((value) => microUsd(value))
const prices = fc.bigInt({ min: 0n, max: 10n ** 12n }).map((value) => picoUsd(value))
const shares = fc.integer({ min: 0, max: 10_000 }).map((value) => keptBps(value))

describe('money', () => {
  it('rounds a charge up exactly once, over all its lines', () => {
    // Three lines of 0.4 micro each are 1.2 micro: 2, not 3.
    const line = { units: 1, price: picoUsd(400_000n) }
    expect(chargeUp([line, line, line], KEEP_ALL)).toBe(2n)
    expect(chargeUp([line], KEEP_ALL)).toBe(1n)
    expect(chargeUp([{ units: 1_000_000, price: parseUnitPrice('0.000003') }], KEEP_ALL)).toBe(3_000_000n)
    expect(chargeUp([], KEEP_ALL)).toBe(ZERO)
  })

  it('never charges less than the exact cost, nor a whole micro-USD more', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ units: fc.nat(1_000_000), price: prices }), { maxLength: 6 }),
        shares,
        (lines, kept) => {
          const exact = lines.reduce((total, line) => total + BigInt(line.units) * line.price, 0n) * kept
          const charged = chargeUp(lines, kept) * 1_000_000n * 10_000n
          expect(charged >= exact && charged - exact < 1_000_000n * 10_000n).toBe(true)
        },
      ),
    )
  })

  it('splits every charge into a net and a fee that add up to the charge', () => {
    fc.assert(
      fc.property(amounts, shares, (charge, feeBps) => {
        const { sellerNet, fee } = splitCharge(charge, feeBps)
        expect(add(sellerNet, fee)).toBe(charge)
        expect(sellerNet).toBe((charge * (10_000n - feeBps)) / 10_000n)
      }),
    )
  })

  it('calculates how many units an amount pays for', () => {
    fc.assert(
      fc.property(amounts, prices, shares, (amount, price, kept) => {
        const units = unitsWithin(amount, price, kept)
        if (units === undefined) expect(price * kept).toBe(0n)
        else if (units <= 1_000_000_000) expect(chargeUp([{ units, price }], kept) <= amount).toBe(true)
      }),
    )
  })

  it('writes dollars with the digits of the integer', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 13n }), (value) => {
        expect(dollarsToMicroUsd(microUsdToDollars(microUsd(value)))).toBe(value)
      }),
    )
    expect(microUsdToDollars(microUsd(1n))).toBe(0.000001)
  })

  it('reads and writes unit prices exactly', () => {
    fc.assert(fc.property(prices, (price) => parseUnitPrice(formatUnitPrice(price)) === price))
    expect(parseUnitPrice('0.0000025')).toBe(2_500_000n)
    expect(parseUnitPrice('2.5e-6')).toBe(2_500_000n)
    expect(formatUnitPrice(parseUnitPrice('0.00000125'))).toBe('0.00000125')
  })

  it('refuses texts that are no amount', () => {
    for (const text of ['-1', '01', '1.5', '', '1e3', '0x5', '999999999999999']) {
      expect(() => parseMicroUsd(text)).toThrow(RangeError)
    }
    for (const text of ['-1', 'NaN', 'Infinity', '0.0000000000001', 'abc', '1e-13']) {
      expect(() => parseUnitPrice(text)).toThrow(RangeError)
    }
    expect(() => subtract(microUsd(1n), microUsd(2n))).toThrow(RangeError)
    expect(() => keptBps(10_001)).toThrow(RangeError)
  })
})
