import type { RawRequest } from '#data-plane/call.ts'
import { AppError } from '#shared/errors.ts'
import { checkOutboundUrl } from '#shared/outbound-guard.ts'
import type { CompiledResource, ResourceHost, RouteMatch, RouteRequest } from '#shared/resources/compile-resource.ts'
import { findRoute, isFound } from '#shared/resources/compile-resource.ts'
import { fillPath } from '#shared/rules/path-pattern.ts'

/** The call to a provider that a buyer asks for. */
export type ForwardAddress = {
  readonly match: RouteMatch
  /** The call for the fences, with the requested path. */
  readonly route: RouteRequest
  readonly query: URLSearchParams
  /** The path at the provider, which sellers' rules concern. */
  readonly path: string
  readonly url: string
}

/** The longest query that is forwarded. */
const MAX_QUERY_CHARS = 4_096
const TARGET_HEADER = 'x-target-url'

/**
 * Finds the call of a request: in its path, or in `x-target-url` if the record says so. `rest` is the path after the
 * record's own part, as sent. Throws AppError: `unexpected_path`, `invalid_target_url`, `platform_route_refused`.
 */
export function readAddress(resource: CompiledResource, raw: RawRequest, rest: string): ForwardAddress {
  return resource.record.style === 'header' ? readTarget(resource, raw, rest) : readPath(resource, raw, rest)
}

function readPath(resource: CompiledResource, { method, query }: RawRequest, rest: string): ForwardAddress {
  let reason = ''
  for (const host of resource.hosts.values()) {
    const route = { method, role: host.role, path: rest === '' ? '/' : rest }
    const match = findRoute(resource, route)
    if (isFound(match)) return addressAt(host, { match, route, query })
    reason = match.reason
  }
  throw notReachable(reason)
}

function readTarget(resource: CompiledResource, { method, headers, query }: RawRequest, rest: string): ForwardAddress {
  if (rest !== '') throw new AppError('unexpected_path', { param: 'path' })
  if (query.size > 0) {
    const message = 'This provider takes its target in x-target-url. Put the query there, too.'
    throw new AppError('unexpected_path', { message, param: 'query' })
  }
  const text = headers[TARGET_HEADER]
  const hosts = new Map([...resource.hosts.values()].map((host) => [host.host, host]))
  // A loopback host can only be on the list in development. The dialling client knows whether this is development.
  const url =
    typeof text === 'string' ? checkOutboundUrl(text, new Set(hosts.keys()), { allowsLoopback: true }) : undefined
  const host = url && hosts.get(url.host.toLowerCase())
  if (url === undefined || host === undefined) throw badTarget()
  // Parsing repairs dot segments, so the path is taken from the text.
  const path = /^https?:\/\/[^/?]+([^?]*)/.exec(String(text))?.[1] ?? ''
  const route = { method, role: host.role, path: path === '' ? '/' : path }
  const match = findRoute(resource, route)
  if (!isFound(match)) throw notReachable(match.reason)
  return addressAt(host, { match, route, query: url.searchParams })
}

function addressAt(
  { baseUrl }: ResourceHost,
  { match, route, query }: Pick<ForwardAddress, 'match' | 'route' | 'query'>,
): ForwardAddress {
  const path = fillPath(match.route.forwardTo, match.captures)
  if (path === undefined) throw notReachable('The provider has no such path.')
  const text = query.toString()
  if (text.length > MAX_QUERY_CHARS) {
    const message = `The query has at most ${MAX_QUERY_CHARS} characters.`
    throw new AppError('invalid_request', { message, param: 'query' })
  }
  const whole = path === '/' ? baseUrl : baseUrl + path
  return { match, route, query, path, url: text === '' ? whole : `${whole}?${text}` }
}

function badTarget(): AppError {
  return new AppError('invalid_target_url', { param: TARGET_HEADER })
}

/** The refusal of a call that no route describes or that a fence keeps out. */
export function notReachable(message: string): AppError {
  return new AppError('platform_route_refused', {
    message,
    param: 'path',
    detail: { limit_source: 'platform_fence', limit_scope: 'platform', resets_at: null },
  })
}
