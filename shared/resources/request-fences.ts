import { findsSomething } from '#shared/rules/apply-rule.ts'
import { findNamesake } from '#shared/rules/names-read.ts'
import type { CompiledResource, RequestNames, RouteMatch, RouteRequest } from './compile-resource.ts'
import { capturedBy } from './compile-resource.ts'
import type { ResourceCall } from './quote-resource.ts'
import { queryOf } from './quote-resource.ts'

/** The parts of a request that rules look into. */
export type RequestParts = Pick<ResourceCall, 'body' | 'query'>

/** The reason why a fence that reads requests refuses a call. Undefined where none does. */
export function reasonInRequest(
  { fences }: CompiledResource,
  routeRequest: RouteRequest,
  { body, query }: RequestParts,
): string | undefined {
  const scope = { body, query: queryOf(query) }
  for (const { when, reason, ...fence } of fences) {
    const path = when && capturedBy(fence, routeRequest)
    if (path !== undefined && when !== undefined && findsSomething(when, { ...scope, path })) return reason
  }
  return undefined
}

/** The names that rules read in a call's request: those of its price, and those of every fence that applies to it. */
export function readsOf(
  { fences }: CompiledResource,
  { route }: RouteMatch,
  routeRequest: RouteRequest,
): readonly RequestNames[] {
  const conditional = fences.filter(
    (fence) => fence.when !== undefined && capturedBy(fence, routeRequest) !== undefined,
  )
  return [route.reads, ...conditional.map(({ reads }) => reads)]
}

/**
 * A request member whose name differs only in letter case from one that a rule reads, so that a provider may treat both
 * as the same member. Undefined where there is none.
 */
export function namesakeIn(
  reads: readonly RequestNames[],
  { body, query }: RequestParts,
): { readonly name: string; readonly part: 'body' | 'query' } | undefined {
  const members = queryOf(query)
  for (const names of reads) {
    const inBody = names.body && findNamesake(body, names.body)
    if (inBody !== undefined) return { name: inBody, part: 'body' }
    const inQuery = names.query && findNamesake(members, names.query)
    if (inQuery !== undefined) return { name: inQuery, part: 'query' }
  }
  return undefined
}
