import type { LookupAddress, LookupAllOptions } from 'node:dns'
import { lookup } from 'node:dns'
import type { LookupFunction } from 'node:net'
import type { OutboundPolicy } from '#shared/outbound-guard.ts'
import { isDialable } from '#shared/outbound-guard.ts'

/** Finds all addresses of a name. */
type ResolveName = (
  hostname: string,
  options: LookupAllOptions,
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** A lookup that refuses a name when any of its addresses is refused. The connection then uses the checked address. */
export function guardedLookup(policy: OutboundPolicy, resolve: ResolveName = lookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '')
      const [first] = addresses
      if (first === undefined || addresses.some(({ address }) => !isDialable(address, policy))) {
        return callback(Object.assign(new Error('the name has an address that is refused'), { code: 'EREFUSED' }), '')
      }
      if (options.all) callback(null, addresses)
      else callback(null, first.address, first.family)
    })
  }
}
