import { isIP } from 'node:net'
import type { RelyingParty } from '#control-plane/operation/ctx.ts'
import { isLoopbackHost } from '#shared/outbound-guard.ts'

/** The relying party of a page; null for a page whose URL has an IP address other than a loopback one. */
export function relyingPartyOf(baseUrl: string, origins: readonly string[]): RelyingParty | null {
  const { hostname } = new URL(baseUrl)
  const id = isLoopbackHost(hostname) ? 'localhost' : hostname
  if (isAddress(id)) return null
  return { id, origins: origins.filter((origin) => new URL(origin).hostname === id) }
}

/** The origins of a service; for http on loopback, under both of its names. */
export function originsOf(urls: readonly string[]): string[] {
  const named = urls.map((url) => new URL(url).origin)
  const twins = named.flatMap((origin) => {
    const { protocol, hostname, port } = new URL(origin)
    const isLocal = protocol === 'http:' && isLoopbackHost(hostname)
    const end = port === '' ? '' : `:${port}`
    return isLocal ? [`http://127.0.0.1${end}`, `http://localhost${end}`] : []
  })
  return [...new Set([...named, ...twins])]
}

const isAddress = (hostname: string) => isIP(hostname) !== 0 || hostname.startsWith('[')
