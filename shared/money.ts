/**
 * All arithmetic on money. Amounts, unit prices and discounts are three branded bigints that do not assign to one
 * another or to a plain bigint. A charge is rounded once, at its end, in the direction that the function's name says.
 */

declare const microUsdBrand: unique symbol
declare const picoUsdBrand: unique symbol
declare const keptBpsBrand: unique symbol

/** An amount in millionths of a US dollar, never negative. */
export type MicroUsd = bigint & { readonly [microUsdBrand]: true }
/** The price of one unit in 1e-12 US dollars; the same integer is micro-USD per million units. */
export type PicoUsd = bigint & { readonly [picoUsdBrand]: true }
/** The kept share of the reference price after a discount, in basis points: 10,000 keeps all, 0 gives it away. */
export type KeptBps = bigint & { readonly [keptBpsBrand]: true }

/** Amounts in Redis and in the contract stay below this, so that a Lua double compares them exactly. */
export const MAX_MICRO_USD = 100_000_000_000_000n
/** Basis points of the whole. */
const WHOLE_BPS = 10_000n
export const PICO_PER_MICRO = 1_000_000n

export const ZERO = 0n as MicroUsd
export const KEEP_ALL = WHOLE_BPS as KeptBps

/** Makes an amount of micro-USD. Throws a RangeError below zero or from 100 million USD up. */
export function microUsd(value: bigint | number): MicroUsd {
  const amount = BigInt(value)
  if (amount < 0n || amount >= MAX_MICRO_USD) throw new RangeError('an amount must be between 0 and 100 million USD')
  return amount as MicroUsd
}

/** Makes a unit price in pico-USD. Throws a RangeError below zero. */
export function picoUsd(value: bigint | number): PicoUsd {
  const price = BigInt(value)
  if (price < 0n) throw new RangeError('a price must not be negative')
  return price as PicoUsd
}

/** Makes a kept share in basis points. Throws a RangeError outside 0 to 10,000. */
export function keptBps(value: bigint | number): KeptBps {
  const bps = BigInt(value)
  if (bps < 0n || bps > WHOLE_BPS) throw new RangeError('a kept share must be 0 to 10,000 basis points')
  return bps as KeptBps
}

export function add(left: MicroUsd, right: MicroUsd): MicroUsd {
  return microUsd(left + right)
}

/** The sum of many amounts. */
export function sum(amounts: Iterable<MicroUsd>): MicroUsd {
  let total = 0n
  for (const amount of amounts) total += amount
  return microUsd(total)
}

/** left − right. Throws a RangeError for a negative result. */
export function subtract(left: MicroUsd, right: MicroUsd): MicroUsd {
  return microUsd(left - right)
}

/** left − right, or zero for a negative result. */
export function subtractToZero(left: MicroUsd, right: MicroUsd): MicroUsd {
  return left > right ? microUsd(left - right) : ZERO
}

export function min(left: MicroUsd, right: MicroUsd): MicroUsd {
  return left < right ? left : right
}

export function max(left: MicroUsd, right: MicroUsd): MicroUsd {
  return left > right ? left : right
}

/** A line of a bill before rounding: a number of units and the price of each. */
export type BillLine = { readonly units: number; readonly price: PicoUsd }

/**
 * The cost of the lines at the kept share, rounded up once to the next micro-USD. Units are whole and not negative.
 * Throws a RangeError for amounts past the limit of {@link microUsd}.
 */
export function chargeUp(lines: readonly BillLine[], keptBps: KeptBps): MicroUsd {
  return chargeShare(billOf(lines), keptBps)
}

/** The sum of lines at the full price, without rounding. {@link chargeShare} charges shares of it. */
export function billOf(lines: readonly BillLine[]): PicoUsd {
  let pico = 0n
  for (const { units, price } of lines) if (units > 0) pico += BigInt(units) * price
  return pico as PicoUsd
}

const PICO_PER_MICRO_BPS = PICO_PER_MICRO * WHOLE_BPS

/** The kept share of a bill, rounded up once: {@link chargeUp} for many shares of one bill. */
export function chargeShare(bill: PicoUsd, keptBps: KeptBps): MicroUsd {
  return microUsd((bill * keptBps + PICO_PER_MICRO_BPS - 1n) / PICO_PER_MICRO_BPS)
}

/** The number of whole units at this price and share that fit into an amount. Undefined when the price is zero. */
export function unitsWithin(amount: MicroUsd, price: PicoUsd, keptBps: KeptBps): number | undefined {
  const unit = price * keptBps
  if (unit === 0n) return undefined
  return Number((amount * PICO_PER_MICRO * WHOLE_BPS) / unit)
}

/** The seller's part of a charge, rounded down, and the platform's fee as its exact complement. */
export function splitCharge(charge: MicroUsd, feeBps: KeptBps): { sellerNet: MicroUsd; fee: MicroUsd } {
  const sellerNet = microUsd((charge * (WHOLE_BPS - feeBps)) / WHOLE_BPS)
  return { sellerNet, fee: subtract(charge, sellerNet) }
}

/** A whole percent of an amount, rounded down. */
export function percentOf(amount: MicroUsd, percent: number): MicroUsd {
  return microUsd((amount * BigInt(percent)) / 100n)
}

/** A unit price after the discount in micro-USD per million units, rounded up: for display, never for charging. */
export function discountedPerMillion(price: PicoUsd, keptBps: KeptBps): bigint {
  return (price * keptBps + WHOLE_BPS - 1n) / WHOLE_BPS
}

/** Reads decimal digits as an amount. Throws a RangeError on anything else. */
export function parseMicroUsd(text: string): MicroUsd {
  if (!/^(0|[1-9]\d{0,14})$/.test(text)) throw new RangeError('an amount must be written in plain digits')
  return microUsd(BigInt(text))
}

/** The amount in plain digits, the form of contracts, Redis and `*_usdc` fields. */
export function formatMicroUsd(amount: MicroUsd): string {
  return amount.toString()
}

/** Micro-USD, not below zero, as a text of US dollars: cents, and further digits only as needed. */
export function formatDollars(amount: bigint): string {
  const digits = amount.toString().padStart(7, '0')
  return `${digits.slice(0, -6)}.${digits.slice(-6).replace(/0{1,4}$/, '')}`
}

/**
 * The amount as a JSON number of US dollars (`usage.cost`): the double nearest to it, which prints back its six
 * decimals. Exact, because a double holds each amount and a division is rounded correctly (IEEE 754).
 */
export function microUsdToDollars(amount: MicroUsd): number {
  return Number(amount) / 1_000_000
}

/** Reads a decimal number of US dollars exactly into micro-USD; finer digits throw a RangeError. */
export function dollarsToMicroUsd(dollars: number | string): MicroUsd {
  return microUsd(parseDecimal(String(dollars), 6))
}

/** Reads a decimal price of one unit in US dollars (`pricing.prompt`); finer than 1e-12 throws a RangeError. */
export function parseUnitPrice(dollars: string): PicoUsd {
  return picoUsd(parseDecimal(dollars, 12))
}

/** The price of this many units as a plain decimal string of US dollars, without an exponent or trailing zeros. */
export function formatUnitPrice(price: PicoUsd, units = 1n): string {
  const digits = (price * units).toString().padStart(13, '0')
  const fraction = digits.slice(-12).replace(/0+$/, '')
  return fraction === '' ? digits.slice(0, -12) : `${digits.slice(0, -12)}.${fraction}`
}

function parseDecimal(text: string, decimals: number): bigint {
  const match = /^(\d{1,15})(?:\.(\d+))?(?:e([+-]?\d{1,2}))?$/i.exec(text.trim())
  if (!match) throw new RangeError('an amount must be a plain decimal number')
  const [, whole = '0', fraction = '', exponent = '0'] = match
  const shift = decimals - fraction.length + Number(exponent)
  const digits = BigInt(whole + fraction)
  if (shift >= 0) return digits * 10n ** BigInt(shift)
  const divisor = 10n ** BigInt(-shift)
  if (digits % divisor !== 0n) throw new RangeError(`finer than ${decimals} decimals`)
  return digits / divisor
}
