import { isGiven } from '#shared/json-members.ts'
import type { ServiceTier } from '#shared/price-list.ts'
import type { CostlyMember, Surcharge } from './surcharge.ts'
import { tierOf } from './surcharge.ts'

/** The surcharge of a member's value. Undefined for a value that costs nothing. */
export type MemberCost = (value: unknown) => Surcharge | Ordered | undefined
/** A surcharge with the facts that identify its line of a price list. */
export type Ordered = Omit<CostlyMember, 'param' | 'only'>

/**
 * The known members of a request: each is free, or its value decides its cost. A member without a row is unknown, and
 * so is its cost.
 */
export type CostTable = ReadonlyMap<string, MemberCost | 'free'>
export type CostRow = readonly [name: string, cost: MemberCost | 'free']

/** The members of a request that are not free. */
export type AskedMembers = {
  readonly costly: readonly CostlyMember[]
  readonly unknown: ReadonlySet<string>
}

const NOTHING: readonly CostlyMember[] = []
const NO_NAMES: ReadonlySet<string> = new Set()
const ALL_FREE: AskedMembers = { costly: NOTHING, unknown: NO_NAMES }

/** Looks up each member of a body once. Null counts as absent. */
export function readMembers(table: CostTable, body: Readonly<Record<string, unknown>>): AskedMembers {
  let costly: CostlyMember[] | undefined
  let unknown: Set<string> | undefined
  for (const name in body) {
    const rule = table.get(name)
    if (rule === 'free' || !isGiven(body[name])) continue
    if (rule === undefined) {
      unknown ??= new Set()
      unknown.add(name)
      continue
    }
    const surcharge = rule(body[name])
    if (surcharge === undefined) continue
    costly ??= []
    if (typeof surcharge === 'object') costly.push({ param: name, ...surcharge })
    else costly.push({ param: name, surcharge, ...(surcharge === 'service_tier' && asTier(name, body[name])) })
  }
  if (costly === undefined && unknown === undefined) return ALL_FREE
  return { costly: costly ?? NOTHING, unknown: unknown ?? NO_NAMES }
}

/** The tier in a member: Anthropic's `speed` is one, and any other member names it. */
function asTier(name: string, value: unknown): { readonly tier?: ServiceTier } {
  const tier = name === 'speed' ? (value === 'fast' ? 'fast' : undefined) : tierOf(value)
  return tier === undefined ? {} : { tier }
}

/** True for a value that orders nothing. In a form it is a text. */
export function isOff(value: unknown): boolean {
  if (Array.isArray(value)) return value.length === 0
  return value === false || value === 'false' || value === '' || value === 0 || value === '0'
}

/** The cost of a member that orders something unless it is off. */
export function costs(surcharge: Surcharge): MemberCost {
  return (value) => (isOff(value) ? undefined : surcharge)
}

/** The cost of a member that orders something unless it has one of these values. */
export function costsBut(surcharge: Surcharge, plain: readonly unknown[]): MemberCost {
  return (value) => (plain.includes(value) || isOff(value) ? undefined : surcharge)
}

/** The cost of a number above a bound. In a form it is a text. */
export function costsAbove(surcharge: Surcharge, most: number): MemberCost {
  return (value) => (Number(value) <= most ? undefined : surcharge)
}

/** Rows of members that cost nothing. */
export function free(...names: readonly string[]): readonly CostRow[] {
  return names.map((name) => [name, 'free'])
}
