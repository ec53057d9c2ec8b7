import type { PathStep, Rule, RuleRoot } from './parse-rule.ts'
import { EVERY } from './parse-rule.ts'

/** The values that rules read, by root. Both an absent root and an absent member count as absent. */
export type RuleScope = { readonly [Root in RuleRoot]?: unknown }

/** The largest number of places in a request or an answer that one rule reads. */
export const MAX_LOOKS = 100_000
/** The largest count. No sold unit reaches it. */
export const MAX_COUNT = 1_000_000_000_000
const MAX_TEXT_CHARS = 1_000
const MAX_DEPTH = 64
/** Decimals that count. Further decimals are the noise of binary fractions. */
const DECIMALS = 6

/**
 * The whole number of units that a rule computes; a fraction of a unit counts as one. Undefined where the result is no
 * number, negative, or above {@link MAX_COUNT}, and where a value has an unexpected type. It never throws, whatever the
 * scope contains.
 */
export function applyCount(rule: Rule, scope: RuleScope): number | undefined {
  const value = apply(rule, scope)
  if (typeof value !== 'number' || !(value >= 0 && value <= MAX_COUNT)) return undefined
  return Math.ceil(Number(value.toFixed(DECIMALS)))
}

/**
 * The text that a rule computes; numbers and booleans are written as text. Undefined where there is no result. It never
 * throws.
 */
export function applyText(rule: Rule, scope: RuleScope): string | undefined {
  return textOf(apply(rule, scope))
}

/** True where a rule has any result, or meets a value of an unexpected type. It never throws. */
export function findsSomething(rule: Rule, scope: RuleScope): boolean {
  try {
    return valueIn(rule, { scope, looksLeft: MAX_LOOKS }) !== undefined
  } catch (thrown) {
    if (thrown === MISFIT) return true
    throw thrown
  }
}

/** Ends a rule that meets a value of an unexpected type. */
class Misfit extends Error {}
const MISFIT = new Misfit('the rule does not fit')

type Look = { readonly scope: RuleScope; looksLeft: number }

function apply(rule: Rule, scope: RuleScope): unknown {
  try {
    return valueIn(rule, { scope, looksLeft: MAX_LOOKS })
  } catch (thrown) {
    if (thrown === MISFIT) return undefined
    throw thrown
  }
}

/** The value of a part. Absent values, null among them, are undefined. */
function valueIn(rule: Rule, look: Look): unknown {
  switch (rule.is) {
    case 'literal':
      return rule.value
    case 'path':
      return rule.steps.includes(EVERY) ? placesOf(rule, look) : placesOf(rule, look)[0]
    case 'call':
      return rule.name === '??' ? eitherOf(rule.args, look) : call(rule, look)
  }
}

function eitherOf(args: readonly Rule[], look: Look): unknown {
  for (const arg of args) {
    const value = valueIn(arg, look)
    if (value !== undefined) return value
  }
  return undefined
}

function call({ name, args }: Extract<Rule, { is: 'call' }>, look: Look): unknown {
  const [first, second] = args
  if (first === undefined) throw MISFIT
  switch (name) {
    case '+':
    case '-':
    case '*':
    case '/':
      return second && calculate(name, numberOf(first, look), numberOf(second, look))
    case 'min':
    case 'max':
      return extreme(
        name,
        args.map((arg) => numberOf(arg, look)),
      )
    case 'ceil':
    case 'floor':
      return whole(name, numberOf(first, look))
    case 'number':
      return numberIn(valueIn(first, look))
    case 'count':
      return listOf(first, look).length
    case 'sum':
      return listOf(first, look).reduce((total: number, value) => finite(total + numeric(value)), 0)
    case 'bytes':
      return bytesOf(valueIn(first, look), look, MAX_DEPTH)
    case 'length':
      return lengthOf(valueIn(first, look))
    case 'pixels':
      return area(valueIn(first, look))
    case 'pick':
      return pick(args, look)
    case 'join':
      return join(args.map((arg) => valueIn(arg, look)))
    case '??':
      return eitherOf(args, look)
  }
}

function placesOf({ root, steps }: Extract<Rule, { is: 'path' }>, look: Look): unknown[] {
  let places: unknown[] = [look.scope[root]]
  for (const step of steps) {
    const next: unknown[] = []
    for (const place of places) {
      // Elements are added one by one, because a list may be longer than a call may have arguments.
      if (step === EVERY) for (const each of Array.isArray(place) ? place : []) take(next, each, look)
      else take(next, member(place, step), look)
    }
    places = next
  }
  return places.filter((place) => place !== undefined && place !== null)
}

function take(into: unknown[], value: unknown, look: Look): void {
  if (--look.looksLeft < 0) throw MISFIT
  if (value !== undefined && value !== null) into.push(value)
}

function member(place: unknown, step: Exclude<PathStep, typeof EVERY>): unknown {
  if (typeof place !== 'object' || place === null) return undefined
  if (typeof step === 'number') return Array.isArray(place) ? place.at(step) : undefined
  if (Array.isArray(place) || !Object.hasOwn(place, step)) return undefined
  return Object.getOwnPropertyDescriptor(place, step)?.value
}

function numberOf(rule: Rule, look: Look): number | undefined {
  const value = valueIn(rule, look)
  return value === undefined ? undefined : numeric(value)
}

function numeric(value: unknown): number {
  if (typeof value !== 'number') throw MISFIT
  return finite(value)
}

function finite(value: number): number {
  if (!Number.isFinite(value)) throw MISFIT
  return value
}

function calculate(name: '+' | '-' | '*' | '/', left: number | undefined, right: number | undefined): unknown {
  if (left === undefined || right === undefined) return undefined
  if (name === '+') return finite(left + right)
  if (name === '-') return finite(left - right)
  return finite(name === '*' ? left * right : left / right)
}

function extreme(name: 'min' | 'max', values: readonly (number | undefined)[]): number | undefined {
  const numbers = values.filter((value) => value !== undefined)
  return numbers.length < values.length ? undefined : Math[name](...numbers)
}

function whole(name: 'ceil' | 'floor', value: number | undefined): number | undefined {
  if (value === undefined) return undefined
  return Math[name](Math.abs(value) > MAX_COUNT ? value : Number(value.toFixed(DECIMALS)))
}

function numberIn(value: unknown): number | undefined {
  if (value === undefined || typeof value === 'number') return value
  if (typeof value !== 'string' || !/^\d{1,15}(\.\d{1,12})?$/.test(value)) throw MISFIT
  return Number(value)
}

/** The elements of a list. A value that is absent has none, and any other value is a misfit. */
function listOf(rule: Rule, look: Look): readonly unknown[] {
  const value = valueIn(rule, look) ?? []
  if (!Array.isArray(value)) throw MISFIT
  look.looksLeft -= value.length
  if (look.looksLeft < 0) throw MISFIT
  return value
}

function bytesOf(value: unknown, look: Look, depth: number): number {
  if (value === undefined) return 0
  if (typeof value === 'string') return Buffer.byteLength(value) + 2
  if (typeof value !== 'object' || value === null) return String(value).length
  if (depth === 0) throw MISFIT
  let bytes = 2
  for (const [name, inner] of Object.entries(value)) {
    if (--look.looksLeft < 0) throw MISFIT
    bytes += 1 + (Array.isArray(value) ? 0 : Buffer.byteLength(name) + 3) + bytesOf(inner, look, depth - 1)
  }
  return bytes
}

function lengthOf(value: unknown): number {
  if (value === undefined) return 0
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (!Array.isArray(value)) throw MISFIT
  return value.reduce((total: number, each) => total + lengthOf(each), 0)
}

function area(value: unknown): number | undefined {
  if (value === undefined) return undefined
  const [, width, height] = (typeof value === 'string' ? /^(\d{1,5})x(\d{1,5})$/.exec(value) : null) ?? []
  if (width === undefined || height === undefined) throw MISFIT
  return Number(width) * Number(height)
}

function pick([rule, ...pairs]: readonly Rule[], look: Look): unknown {
  const value = rule && textOf(valueIn(rule, look))
  if (value === undefined) return undefined
  for (let at = 0; at + 1 < pairs.length; at += 2) {
    const [name, result] = [pairs[at], pairs[at + 1]]
    if (name !== undefined && result !== undefined && textOf(valueIn(name, look)) === value)
      return valueIn(result, look)
  }
  return undefined
}

function join(values: readonly unknown[]): string | undefined {
  const texts = values.map(textOf).filter((text) => text !== undefined)
  return texts.length < values.length ? undefined : textOf(texts.join(''))
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return typeof value === 'string' && value.length <= MAX_TEXT_CHARS ? value : undefined
}
