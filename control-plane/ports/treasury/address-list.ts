import { readFile, stat } from 'node:fs/promises'

/** Most bytes of a list: a few hundred thousand addresses. */
const MAX_BYTES = 32 * 1024 * 1024
const ADDRESS = /^0x[0-9a-f]{40}$/

/** Addresses that receive no payouts. */
export type AddressList = {
  /**
   * The given addresses that are on the list. Throws when the list cannot be read, because then no address is clear.
   */
  listed(addresses: readonly string[]): Promise<ReadonlySet<string>>
}

/** An empty list. */
export const EMPTY_LIST: AddressList = { listed: () => Promise.resolve(new Set()) }

/**
 * Reads a list from a file that the operator provides: an address a line, `#` begins a comment. A changed file counts
 * from the next read on. A line that is no address makes the file invalid, because the intended address is unknown.
 */
export function createAddressFile(path: string): AddressList {
  let knownList: { readonly stamp: string; readonly addresses: ReadonlySet<string> } | undefined

  async function read(): Promise<ReadonlySet<string>> {
    const { size, mtimeMs, ino } = await stat(path)
    const stamp = `${size} ${mtimeMs} ${ino}`
    if (knownList?.stamp === stamp) return knownList.addresses
    if (size > MAX_BYTES) throw new Error('the list of addresses is too large')
    const addresses = new Set<string>()
    for (const line of (await readFile(path, 'utf8')).split('\n')) {
      const address = line.replace(/#.*/, '').trim().toLowerCase()
      if (address === '') continue
      if (!ADDRESS.test(address)) throw new Error('a line of the list of addresses is no address')
      addresses.add(address)
    }
    knownList = { stamp, addresses }
    return addresses
  }

  return {
    async listed(askedAddresses) {
      const addresses = await read()
      return new Set(askedAddresses.filter((address) => addresses.has(address)))
    },
  }
}
