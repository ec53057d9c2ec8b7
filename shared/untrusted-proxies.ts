import type { IncomingHttpHeaders } from 'node:http'
import type { Logger } from './logger.ts'
import { networkOf } from './network-address.ts'
import { isDialable } from './outbound-guard.ts'

/** The most addresses that are remembered. */
const MAX_ADDRESSES = 100

/**
 * A request with the hop that it came through. `ips` begins with that hop. The addresses that trusted proxies report
 * follow.
 */
export type PassedRequest = {
  readonly headers: IncomingHttpHeaders
  readonly ips?: readonly string[] | undefined
}

/**
 * The proxies that pass requests on and are missing in `TRUSTED_PROXIES`, so that all their callers count as one
 * address.
 */
export type UntrustedProxies = {
  see(request: PassedRequest): void
  /** The addresses since the start. */
  count(): number
}

/**
 * Names each such proxy once in the log. Only hops in a private network are taken for proxies: a stranger on a public
 * address may write the header, too.
 */
export function createUntrustedProxies(log: Pick<Logger, 'warn'>): UntrustedProxies {
  const reported = new Set<string>()
  return {
    see(request) {
      if (request.headers['x-forwarded-for'] === undefined) return
      const [hop, ...addresses] = request.ips ?? []
      if (hop === undefined || addresses.length > 0) return
      const address = networkOf(hop)
      if (reported.has(address) || reported.size >= MAX_ADDRESSES || isPublic(hop)) return
      reported.add(address)
      log.warn({ proxy: hop }, 'a proxy is missing in TRUSTED_PROXIES: all its callers count as one address')
    },
    count: () => reported.size,
  }
}

const MAPPED = /^::ffff:/i

function isPublic(address: string): boolean {
  return isDialable(address.replace(MAPPED, ''), { allowsLoopback: false })
}
