import { z } from 'zod'
import type { BillLine, KeptBps, MicroUsd, PicoUsd } from './money.ts'
import { chargeUp, KEEP_ALL, picoUsd } from './money.ts'
import type { Usage, UsageClass } from './usage.ts'
import { USAGE_CLASSES } from './usage.ts'

/** Reference prices of a model: pico-USD of one unit, by usage class. */
export type UnitPrices = { readonly [Class in UsageClass]?: PicoUsd }

/**
 * Classes that a price list may leave out, and the class whose price then applies. Cached input never costs more than
 * fresh input, and reasoning is output. A class falls back step by step, and is listed after the one that it falls back
 * to.
 */
const FALLBACK: { readonly [Class in UsageClass]?: UsageClass } = {
  cacheRead: 'input',
  cacheWrite: 'input',
  cacheWriteLong: 'cacheWrite',
  cachedAudio: 'cacheRead',
  audioInput: 'input',
  imageInput: 'input',
  reasoning: 'output',
  audioOutput: 'output',
  imageOutput: 'output',
}

/** The classes that fall back, each after the one that it falls back to. */
export const FALLING_CLASSES = Object.keys(FALLBACK) as readonly UsageClass[]

/** The price of one unit of a class, or of the class that it falls back to. Undefined when none of them has a price. */
export function unitPrice(prices: UnitPrices, usageClass: UsageClass): PicoUsd | undefined {
  const price = prices[usageClass]
  return price ?? fallbackPrice(prices, usageClass)
}

/** The price that applies to a class without one of its own. */
export function fallbackPrice(prices: UnitPrices, usageClass: UsageClass): PicoUsd | undefined {
  const fallback = FALLBACK[usageClass]
  return fallback === undefined ? undefined : unitPrice(prices, fallback)
}

/** The used classes without a price. An alarm names them; normally the list is empty. */
export function unpricedClasses(prices: UnitPrices, usage: Usage): readonly UsageClass[] {
  let unpriced: UsageClass[] | undefined
  for (const key in usage) {
    const name = key as UsageClass
    if ((usage[name] ?? 0) === 0 || unitPrice(prices, name) !== undefined) continue
    unpriced ??= []
    unpriced.push(name)
  }
  return unpriced ?? NO_CLASSES
}

const NO_CLASSES: readonly UsageClass[] = []

/**
 * The cost of a usage at a kept share of the reference price, rounded up once. Classes without a price cost nothing;
 * {@link unpricedClasses} names them. A price per call counts once a call, whatever else was used.
 */
export function chargeUsage(prices: UnitPrices, usage: Usage, keptBps: KeptBps): MicroUsd {
  return chargeUp(billLines(prices, usage), keptBps)
}

/** The cost of the same usage at the reference price: `x-mkt-list-cost-micro`. */
export function listCost(prices: UnitPrices, usage: Usage): MicroUsd {
  return chargeUsage(prices, usage, KEEP_ALL)
}

/** The bill of a usage's input at the reference price, before rounding. It is a part of the bill of the whole usage. */
export function inputBill(prices: UnitPrices, usage: Usage): PicoUsd {
  let pico = 0n
  for (const name of INPUT_CLASSES) {
    const units = usage[name]
    if (units !== undefined && units > 0) pico += BigInt(units) * (unitPrice(prices, name) ?? 0n)
  }
  return picoUsd(pico)
}

const INPUT_CLASSES = [
  'input',
  'cacheRead',
  'cacheWrite',
  'cacheWriteLong',
  'cachedAudio',
  'audioInput',
  'imageInput',
] as const
const OUTPUT_CLASSES = ['output', 'reasoning', 'audioOutput', 'imageOutput'] as const

/** The lines of a usage's bill: every class that has a price. */
export function billLines(prices: UnitPrices, usage: Usage): BillLine[] {
  const bill: BillLine[] = []
  // Walks over the two or three used classes, because it runs for every call.
  for (const key in usage) {
    const name = key as UsageClass
    const units = usage[name]
    if (units === undefined || units === 0) continue
    const price = unitPrice(prices, name)
    if (price !== undefined) bill.push({ units, price })
  }
  return bill
}

/** The highest price of an input token. A ceiling needs it, because the content of a cache is not known in advance. */
export function dearestInput(prices: UnitPrices): PicoUsd {
  return dearest(prices, INPUT_CLASSES)
}

/** The highest price of an output token. */
export function dearestOutput(prices: UnitPrices): PicoUsd {
  return dearest(prices, OUTPUT_CLASSES)
}

function dearest(prices: UnitPrices, classes: readonly UsageClass[]): PicoUsd {
  let top = picoUsd(0n)
  for (const name of classes) {
    const price = prices[name]
    if (price !== undefined && price > top) top = price
  }
  return top
}

const Price = z
  .string()
  .regex(/^(0|[1-9]\d{0,24})$/)
  .transform((digits) => picoUsd(BigInt(digits)))

/** Prices in the contract: decimal strings of pico-USD by class. */
export const UnitPricesSchema = z.partialRecord(z.enum(USAGE_CLASSES), Price).transform((prices): UnitPrices => prices)

/** Writes prices in the contract's form. */
export function writeUnitPrices(prices: UnitPrices): Record<string, string> {
  return Object.fromEntries(Object.entries(prices).map(([name, price]) => [name, price.toString()]))
}
