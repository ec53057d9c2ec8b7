import { hostOf } from '#shared/catalog/providers.ts'
import type { Resource, ResourceGood, ResourceMethod, ResourceRoute } from '#shared/catalog/resources.ts'
import { parseUnitPrice } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import type { NamesRead } from '#shared/rules/names-read.ts'
import { namesRead } from '#shared/rules/names-read.ts'
import type { Rule } from '#shared/rules/parse-rule.ts'
import { parseRule, rootsOf } from '#shared/rules/parse-rule.ts'
import type { PathPattern } from '#shared/rules/path-pattern.ts'
import { matchPath, parsePathPattern } from '#shared/rules/path-pattern.ts'
import type { UsageClass } from '#shared/usage.ts'
import { USAGE_CLASSES } from '#shared/usage.ts'

/** Rules that count units, by class. */
export type UnitRules = readonly { readonly class: UsageClass; readonly rule: Rule }[]

/** A good with its prices read. */
export type Good = Pick<ResourceGood, 'id' | 'facts' | 'mustQueue'> & { readonly price: ReferencePrice }

/** A route with its patterns and rules read. */
export type Route = Pick<ResourceRoute, 'id' | 'kind' | 'title' | 'methods' | 'host' | 'rpc'> & {
  readonly path: PathPattern
  readonly forwardTo: PathPattern
  readonly captures: ReadonlyMap<string, ReadonlySet<string>>
  /**
   * The good of every call of the route. Undefined where {@link goodAt} determines it, and on routes without a good.
   */
  readonly good: string | undefined
  readonly goodAt: Rule | undefined
  readonly quote: UnitRules
  /** The request members that the rules of good and quote read. */
  readonly reads: RequestNames
  readonly reported: UnitRules
  readonly fills: readonly Fill[]
  /** Counts the content of a JSON answer or of one event. Undefined where usage is never estimated. */
  readonly content: Rule | undefined
  readonly estimated: UnitRules
  /** True when a report is in the body of the answer, and not in its head alone. */
  readonly isReportedInBody: boolean
  readonly state: StateRule | undefined
  readonly jobAt: Rule | undefined
}

/** The names in a request's body and query that rules read. Undefined for a part that no rule reads. */
export type RequestNames = { readonly body: NamesRead | undefined; readonly query: NamesRead | undefined }

/** A member that is set in a request, with its rules read. */
export type Fill = {
  readonly member: string
  readonly within: string | undefined
  readonly value: Rule | boolean
  readonly when: Rule | undefined
  readonly unless: Rule | undefined
}

export type StateRule = {
  readonly at: Rule
  readonly doneStates: ReadonlySet<string>
  readonly failed: ReadonlySet<string>
}

/** A host that calls are sent to. */
export type ResourceHost = { readonly role: string; readonly baseUrl: string; readonly host: string }

/**
 * A resource record that is ready for calls: every rule, pattern and price in it is parsed, once for each version of
 * the record.
 */
export type CompiledResource = {
  readonly record: Resource
  readonly version: number
  readonly hosts: ReadonlyMap<string, ResourceHost>
  /** The names of all its hosts, with their ports. */
  readonly hostNames: ReadonlySet<string>
  readonly goods: ReadonlyMap<string, Good>
  readonly routes: readonly Route[]
  readonly fences: readonly Fence[]
}

export type Fence = {
  readonly methods: ReadonlySet<string> | undefined
  readonly host: string | undefined
  readonly path: PathPattern
  /** Undefined for every call of the path. */
  readonly when: Rule | undefined
  readonly reads: RequestNames
  readonly reason: string
}

/** Reads a valid record. `version` names it in the price of each call. */
export function compileResource(record: Resource, version: number): CompiledResource {
  const hosts = record.hosts.map(({ role, baseUrl }) => ({ role, baseUrl, host: hostOf(baseUrl) ?? '' }))
  return {
    record,
    version,
    hosts: new Map(hosts.map((host) => [host.role, host])),
    hostNames: new Set(hosts.map(({ host }) => host)),
    goods: new Map(record.goods.map((good) => [good.id, compileGood(good, `${record.id}@${version}`)])),
    routes: record.routes.map(compileRoute),
    fences: record.fences.map(({ methods, host, path, when: text, reason }) => {
      const when = ruleIn(text)
      const reads = readIn(when === undefined ? [] : [when])
      return { methods: methods && new Set(methods), host, path: patternOf(path), when, reads, reason }
    }),
  }
}

function compileGood({ id, facts, mustQueue, prices }: ResourceGood, version: string): Good {
  const unitPrices: UnitPrices = Object.fromEntries(
    Object.entries(prices).map(([name, price]) => [name, parseUnitPrice(price)]),
  )
  return { id, facts, mustQueue, price: { version, unitPrices } }
}

function compileRoute(route: ResourceRoute): Route {
  const { id, kind, title, methods, host, rpc, state } = route
  const goodAt = ruleIn(route.goodAt)
  const quote = unitRules(route.quote)
  const reported = unitRules(route.reported)
  return {
    id,
    kind,
    title,
    methods,
    host,
    rpc,
    good: route.good,
    path: patternOf(route.path),
    forwardTo: patternOf(route.forwardTo ?? route.path),
    captures: new Map(Object.entries(route.captures).map(([name, values]) => [name, new Set(values)])),
    goodAt,
    quote,
    reads: readIn([goodAt, ...quote.map(({ rule }) => rule)].filter((rule) => rule !== undefined)),
    fills: route.fills.map(compileFill),
    reported,
    content: ruleIn(route.content),
    estimated: unitRules(route.estimated),
    isReportedInBody: reported.some(({ rule }) => rootsOf(rule).has('answer')),
    state: state && { at: parseRule(state.at), doneStates: new Set(state.done), failed: new Set(state.failed) },
    jobAt: ruleIn(route.jobAt),
  }
}

function compileFill({ member, within, value, when, unless }: ResourceRoute['fills'][number]): Fill {
  const read = typeof value === 'boolean' ? value : parseRule(value)
  return { member, within, value: read, when: ruleIn(when), unless: ruleIn(unless) }
}

function ruleIn(text: string | undefined): Rule | undefined {
  return text === undefined ? undefined : parseRule(text)
}

function readIn(rules: readonly Rule[]): RequestNames {
  return { body: namesRead(rules, 'body'), query: namesRead(rules, 'query') }
}

function unitRules(rules: ResourceRoute['quote']): UnitRules {
  return USAGE_CLASSES.flatMap((name) => {
    const text = rules?.[name]
    return text === undefined ? [] : [{ class: name, rule: parseRule(text) }]
  })
}

/** The pattern of a record that was checked. */
function patternOf(text: string): PathPattern {
  const pattern = parsePathPattern(text)
  if (pattern === undefined) throw new RangeError('the record was not checked')
  return pattern
}

/** A call to a provider: its method, the role of the host, and the path there without a query. */
export type RouteRequest = { readonly method: string; readonly role: string; readonly path: string }

/** A route that a call matches, with the captures of its path. */
export type RouteMatch = { readonly route: Route; readonly captures: Readonly<Record<string, string>> }

/**
 * Finds the route of a call. A fence takes precedence over every route. A call that no route describes is refused, too:
 * both are `platform_route_refused`. `reason` is the sentence of the refusal.
 */
export function findRoute(
  { routes, fences }: CompiledResource,
  routeRequest: RouteRequest,
): RouteMatch | { readonly reason: string } {
  const { method, role, path } = routeRequest
  for (const fence of fences) {
    if (fence.when === undefined && capturedBy(fence, routeRequest) !== undefined) return { reason: fence.reason }
  }
  for (const route of routes) {
    if (route.host !== role || !route.methods.includes(method as ResourceMethod)) continue
    const captures = matchPath(route.path, path)
    if (captures === undefined) continue
    let isAllowed = true
    for (const [name, values] of route.captures) isAllowed &&= values.has(captures[name] ?? '')
    if (isAllowed) return { route, captures }
  }
  return { reason: 'No route of the provider that is sold here has this method and path.' }
}

/** The captures of a fence's path in a call. Undefined where the fence does not apply to the call. */
export function capturedBy(
  { methods, host, path }: Pick<Fence, 'methods' | 'host' | 'path'>,
  routeRequest: RouteRequest,
) {
  const isMeant = (methods?.has(routeRequest.method) ?? true) && (host ?? routeRequest.role) === routeRequest.role
  return isMeant ? matchPath(path, routeRequest.path) : undefined
}

/** True when a route was found. */
export function isFound(match: RouteMatch | { readonly reason: string }): match is RouteMatch {
  return 'route' in match
}
