import { BlockList, isIP } from 'node:net'
import type { HostList } from './catalog/provider-hosts.ts'
import { hostOf } from './catalog/providers.ts'

/** The hosts that a plane may dial beyond public https. Loopback hosts are allowed in development only. */
export type OutboundPolicy = { readonly allowsLoopback: boolean }

const MAX_URL_LENGTH = 2_048
const PRINTABLE_ASCII = /^[\x21-\x7e]+$/

/**
 * Checks a foreign URL before anything is resolved or dialled. It checks the raw text first, because parsing repairs
 * faults that should be refused, then the parsed parts, then that the host is on the list. Returns the parsed URL, or
 * undefined. The address is checked again when it is dialled ({@link isDialable}).
 */
export function checkOutboundUrl(raw: string, allowedHosts: HostList, policy: OutboundPolicy): URL | undefined {
  if (raw.length > MAX_URL_LENGTH || !PRINTABLE_ASCII.test(raw) || /[\\#"<>^`{|}]/.test(raw)) return undefined
  const authority = /^https?:\/\/([^/?]+)/.exec(raw)?.[1]
  // A star belongs in patterns of hosts and never in a host.
  if (authority === undefined || /[@%*]/.test(authority)) return undefined
  if (!URL.canParse(raw)) return undefined
  const url = new URL(raw)
  if (url.username !== '' || url.password !== '' || url.hash !== '') return undefined
  if (url.hostname.endsWith('.') || url.hostname.includes('..')) return undefined
  // The parser rewrites octal, decimal, full-width and incomplete addresses. A host that it rewrote is refused.
  if (url.host.toLowerCase() !== hostOf(raw) || authority.toLowerCase() !== url.host) return undefined
  const isLoopbackOnList = policy.allowsLoopback && isLoopbackHost(url.hostname)
  if (!isLoopbackOnList) {
    if (url.protocol !== 'https:' || url.port !== '' || isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0)
      return undefined
  }
  return allowedHosts.has(url.host.toLowerCase()) ? url : undefined
}

/** Names without a public host: those of one network (RFC 6761, 6762, 7686, 8375, 9476 and in use). */
const PRIVATE_NAMES: ReadonlySet<string> = new Set([
  'localhost',
  'local',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'arpa',
  'onion',
  'localdomain',
  'localdomain6',
  'localhost6',
  'test',
  'invalid',
  'alt',
  'intra',
  'domain',
  'workgroup',
  'router',
])

/** Domains whose public records lead to loopback or to any address in the name. */
const LOOPBACK_DOMAINS: readonly string[] = [
  'localtest.me',
  'lvh.me',
  'vcap.me',
  'lacolhost.com',
  'localho.st',
  'fuf.me',
  'traefik.me',
  'local.gd',
  'nip.io',
  'sslip.io',
  'xip.io',
  'fritz.box',
  'mshome.net',
]

function isLocalName(name: string): boolean {
  const [last = ''] = name.split('.').slice(-1)
  return PRIVATE_NAMES.has(last) || LOOPBACK_DOMAINS.some((domain) => name === domain || name.endsWith(`.${domain}`))
}

/** Checks a URL on any public host in the same way, for servers outside of any list. */
export function checkPublicUrl(raw: string, policy: OutboundPolicy): URL | undefined {
  const url = checkOutboundUrl(raw, new Set([hostOf(raw) ?? '']), policy)
  if (url === undefined || (policy.allowsLoopback && isLoopbackHost(url.hostname))) return url
  const name = url.hostname.toLowerCase()
  return name.includes('.') && !isLocalName(name) ? url : undefined
}

/** True for a host of this machine, by its address or its name. An IPv6 address may be in brackets, as in a URL. */
export function isLoopbackHost(host: string): boolean {
  return /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host) || ['localhost', '::1', '[::1]'].includes(host)
}

/**
 * Networks that a seller's host may never resolve to: all of IANA's special-purpose registries (RFC 6890 and later),
 * the ranges that registries have retired, and those in which IPv6 carries an IPv4 address, because the address inside
 * is not visible here.
 */
const blockList = new BlockList()
for (const [net, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  blockList.addSubnet(net, prefix, 'ipv4')
}
for (const [net, prefix] of [
  ['::', 96],
  // IPv4-translated addresses. IPv4-mapped addresses cannot be listed here, because the list takes them for IPv4.
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['100:0:0:1::', 64],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3ffe::', 16],
  ['3fff::', 20],
  ['5f00::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  blockList.addSubnet(net, prefix, 'ipv6')
}
const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** True for an address of this machine. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address)
  return family !== 0 && loopback.check(address, family === 6 ? 'ipv6' : 'ipv4')
}

/** True when a resolved address may be dialled. */
export function isDialable(address: string, policy: OutboundPolicy): boolean {
  const family = isIP(address)
  if (family === 0) return false
  if (policy.allowsLoopback && isLoopbackAddress(address)) return true
  // An IPv4 address mapped into IPv6 (::ffff:0:0/96) is always refused. No public host needs one.
  if (family === 6 && new URL(`http://[${address.split('%')[0]}]`).hostname.startsWith('[::ffff:')) return false
  return !blockList.check(address, family === 6 ? 'ipv6' : 'ipv4')
}
