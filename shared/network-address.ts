import { isIPv6 } from 'node:net'

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
const GROUPS = 8
/** The groups of an IPv6 address that identify a network (a /64). The owner of one address has all of them. */
const NETWORK_GROUPS = 4

/**
 * The network address of a caller, as limits count it: an IPv4 address, or the network of an IPv6 address. Empty for a
 * client that has gone, because a closed socket has no address, whatever a framework's types say.
 */
export function networkOf(ip: string | undefined): string {
  const [address = ''] = (ip ?? '').split('%', 1)
  const mapped = MAPPED.exec(address)?.[1]
  if (mapped !== undefined || !isIPv6(address)) return mapped ?? address
  // As the host of a URL it has its shortest form, without dots and with at most one double colon.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const head = left.split(':').filter((group) => group !== '')
  const tail = (right ?? '').split(':').filter((group) => group !== '')
  const gap = Array<string>(GROUPS - head.length - tail.length).fill('0')
  return [...head, ...gap, ...tail].slice(0, NETWORK_GROUPS).join(':')
}
