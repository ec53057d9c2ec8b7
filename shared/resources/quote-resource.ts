import type { PicoUsd } from '#shared/money.ts'
import { billOf, picoUsd } from '#shared/money.ts'
import { billLines, unitPrice } from '#shared/pricing.ts'
import type { RuleScope } from '#shared/rules/apply-rule.ts'
import { applyCount, applyText, findsSomething } from '#shared/rules/apply-rule.ts'
import type { Usage, UsageClass } from '#shared/usage.ts'
import type { CompiledResource, Fill, Good, Route, RouteMatch, UnitRules } from './compile-resource.ts'

/**
 * The parts of a request that rules read. A body that is no JSON is absent. The caller must refuse a body in which an
 * object has a member name twice, because the provider may read the other of the two.
 */
export type ResourceCall = {
  readonly body: unknown
  readonly query: URLSearchParams
  /** Bytes of the body. */
  readonly size: number
}

/**
 * The parts of an answer that rules read: a JSON body, or the data of one event of a stream, and headers in lower case.
 */
export type GivenAnswer = {
  readonly answer: unknown
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
}

/** The most that one call may be quoted at: 10,000 US dollars. */
const MAX_QUOTE = picoUsd(10_000_000_000_000_000n)

/** The good that a call buys. Undefined where the record has no good of that name; such a call has no price. */
export function goodOf(
  { goods }: CompiledResource,
  { route, captures }: RouteMatch,
  call: ResourceCall,
): Good | undefined {
  const scope: RuleScope = { body: call.body, query: queryOf(call.query), path: captures }
  const id = route.good ?? (route.goodAt === undefined ? undefined : applyText(route.goodAt, scope))
  return id === undefined ? undefined : goods.get(id)
}

/**
 * The largest number of units that a call can consume. Undefined where a unit with a price cannot be counted in
 * advance; such a call has no price. For JSON-RPC see {@link rpcUnits}.
 */
export function quoteUnits({ route, captures }: RouteMatch, good: Good, call: ResourceCall): Usage | undefined {
  const { body, query, size } = call
  const units = countUnits(route.quote, { body, query: queryOf(query), path: captures, size, model: good.facts })
  for (const name in good.price.unitPrices) if (units[name as UsageClass] === undefined) return undefined
  return billFor(good, units) > MAX_QUOTE ? undefined : units
}

/** True when the gateway sets the member in the request. */
export function isDue(
  { when, unless }: Fill,
  { captures }: RouteMatch,
  { body, query }: Pick<ResourceCall, 'body' | 'query'>,
): boolean {
  const scope = { body, query: queryOf(query), path: captures }
  return (when === undefined || findsSomething(when, scope)) && (unless === undefined || !findsSomething(unless, scope))
}

/** The value of a member that the gateway sets. Undefined where its rule finds no number. */
export function fillValue(
  { value }: Fill,
  { captures }: RouteMatch,
  good: Good,
  { body, query, size }: ResourceCall,
): number | boolean | undefined {
  if (typeof value === 'boolean') return value
  return applyCount(value, { body, query: queryOf(query), path: captures, size, model: good.facts })
}

/** The bytes of content in an answer or an event. Undefined where the rule meets a value of an unexpected type. */
export function contentIn({ route, captures }: RouteMatch, good: Good, { answer, headers }: GivenAnswer) {
  const { content } = route
  return content && applyCount(content, { answer, header: headers, path: captures, model: good.facts })
}

/** The estimated usage of an answer without reported usage. A unit without a rule is taken from the quote. */
export function estimatedUnits(
  { route, captures }: RouteMatch,
  good: Good,
  quoted: Usage,
  { size, content }: { readonly size: number; readonly content: number },
): Usage | undefined {
  if (route.estimated.length === 0) return undefined
  const units = countUnits(route.estimated, { size, content, path: captures, model: good.facts })
  return route.estimated.some(({ class: name }) => units[name] === undefined) ? undefined : { ...quoted, ...units }
}

/**
 * The units that the provider reports. Undefined where a unit with a price is missing in the report: then the quote
 * counts. A unit that this route never reports is taken from the quote.
 */
export function reportedUnits(
  { route, captures }: RouteMatch,
  good: Good,
  quoted: Usage,
  { answer, headers }: GivenAnswer,
): Usage | undefined {
  if (route.reported.length === 0) return undefined
  // Without an answer, a rule would count nothing and the call would be free.
  if (answer === undefined && route.isReportedInBody) return undefined
  const units = countUnits(route.reported, { answer, header: headers, path: captures, model: good.facts })
  for (const { class: name } of route.reported) {
    if (units[name] === undefined && unitPrice(good.price.unitPrices, name) !== undefined) return undefined
  }
  const rest = Object.entries(quoted).filter(([name]) => route.reported.every((rule) => rule.class !== name))
  return { ...Object.fromEntries(rest), ...units }
}

/** The usage that is charged: the reported usage or the quote, whichever costs less. */
export function chargeableUnits(good: Good, quoted: Usage, reported: Usage | undefined): Usage {
  return reported !== undefined && billFor(good, reported) < billFor(good, quoted) ? reported : quoted
}

/** The units of `calls` that a method of JSON-RPC costs. Undefined for one that is never forwarded. */
export function rpcUnits({ rpc }: Pick<Route, 'rpc'>, method: string): number | undefined {
  if (rpc === undefined || !Object.hasOwn(rpc.methods, method)) return undefined
  return rpc.classes[rpc.methods[method] ?? '']
}

/** The state of the call or job, in an answer with a successful status. */
export function stateOf({ state }: Pick<Route, 'state'>, givenAnswer: GivenAnswer): 'done' | 'failed' | 'unknown' {
  const text =
    state === undefined ? undefined : applyText(state.at, { answer: givenAnswer.answer, header: givenAnswer.headers })
  if (state === undefined || text === undefined) return 'unknown'
  if (state.failed.has(text)) return 'failed'
  return state.doneStates.has(text) ? 'done' : 'unknown'
}

/** The longest id that a provider gives to a job. */
const MAX_JOB_CHARS = 256

/** A path segment that cannot lead to another path. */
const PLAIN_ID = /^(?!\.{1,2}$)[\w.~:-]+$/

/**
 * The provider's id of the job that a submission started. Later paths contain it, so it may have plain characters only.
 */
export function jobOf({ jobAt }: Pick<Route, 'jobAt'>, { answer, headers }: GivenAnswer): string | undefined {
  const id = jobAt === undefined ? undefined : applyText(jobAt, { answer, header: headers })
  return id !== undefined && id.length <= MAX_JOB_CHARS && PLAIN_ID.test(id) ? id : undefined
}

function billFor({ price }: Good, usage: Usage): PicoUsd {
  return billOf(billLines(price.unitPrices, usage))
}

function countUnits(rules: UnitRules, scope: RuleScope): { -readonly [Class in UsageClass]?: number } {
  const units: { -readonly [Class in UsageClass]?: number } = {}
  for (const { class: name, rule } of rules) {
    const count = applyCount(rule, scope)
    if (count !== undefined) units[name] = count
  }
  return units
}

/** A member that a query names twice becomes a list, so that no rule reads one of the two values as the only one. */
export function queryOf(query: URLSearchParams): Readonly<Record<string, string | string[]>> {
  if (query.size === 0) return NO_QUERY
  const members: Record<string, string | string[]> = Object.create(null)
  for (const name of new Set(query.keys())) {
    const values = query.getAll(name)
    members[name] = values.length === 1 ? (values[0] ?? '') : values
  }
  return members
}

const NO_QUERY: Readonly<Record<string, string>> = Object.freeze(Object.create(null))
