import { existsSync, writeFileSync } from 'node:fs'
import { readProviderAddresses } from '#dev/seed/provider-addresses.ts'
import type { SandboxProvider } from '#dev/seed/sellers.ts'
import type { Address } from '#dev/services/ports.ts'
import { claimAddress, claimPort, isPortFree } from '#dev/services/ports.ts'
import { AppError } from '#shared/errors.ts'

const DEFAULT_PORT = 8_402
/** The distance between the first port and that of the chain, which people type into their wallets. */
const CHAIN_OFFSET = 2
/** The distance between the first port and that of the providers. */
const PROVIDER_OFFSET = 10
const LOOPBACK = '127.0.0.1'

/** The address of one child, for as long as no other process listens there. */
export type ReservedPort = {
  readonly address: () => Address
  /**
   * Checks the address just before a child starts there. Moves to another port when this one is taken, and then returns
   * true. Throws an AppError when the user named the port.
   */
  readonly secure: () => Promise<boolean>
  /** Reports that the child found its port taken. The next `secure` moves, even when the port is free again by then. */
  readonly leave: () => void
  readonly release: () => void
}

export type NetworkPlaces = {
  readonly dataPlane: ReservedPort
  readonly controlPlane: ReservedPort
  /** The worker's address for health checks. */
  readonly worker: ReservedPort
  readonly postgres: ReservedPort
  readonly redis: ReservedPort
  readonly chain: ReservedPort
  /** By provider id. A home keeps these addresses from start to start while they are free, because offers name them. */
  readonly providers: ReadonlyMap<string, ReservedPort>
  readonly release: () => void
}

export type PortOptions = {
  /** The first port, when the caller named one. It must be free; 0 picks a free one. */
  readonly first: number | undefined
  readonly providers: readonly SandboxProvider[]
  /** The file that stores provider addresses. */
  readonly file: string
}

/** Picks the ports of a network. Throws an AppError when a named port is taken. */
export async function choosePlaces({ first, providers, file }: PortOptions): Promise<NetworkPlaces> {
  const start = first === 0 ? undefined : (first ?? DEFAULT_PORT)
  const after = (port: number | undefined, offset: number) =>
    port === undefined ? {} : { preferred: { host: LOOPBACK, port: port + offset } }
  const dataPlane = await createPlace({ ...after(start, 0), isFixed: first !== undefined && first !== 0 })
  const next = start === undefined ? undefined : dataPlane.address().port
  const places = {
    dataPlane,
    controlPlane: await createPlace(after(next, 1)),
    worker: await createPlace({}),
    postgres: await createPlace({}),
    redis: await createPlace({}),
    chain: await createPlace(after(next, CHAIN_OFFSET)),
  }
  const keptAddresses = existsSync(file) ? Object.fromEntries(readProviderAddresses(file)) : {}
  const chosen = new Map<string, ReservedPort>()
  for (const { id, host } of providers) {
    const preferred = keptAddresses[id] ?? (start === undefined ? undefined : { host, port: start + PROVIDER_OFFSET })
    chosen.set(id, await createPlace({ host, ...(preferred && { preferred }) }))
  }
  keepAddresses(file, chosen)
  const all = [...Object.values(places), ...chosen.values()]
  return { ...places, providers: chosen, release: () => all.forEach((place) => void place.release()) }
}

/** Stores the addresses of the providers. */
export function keepAddresses(file: string, providers: ReadonlyMap<string, ReservedPort>): void {
  const addresses = [...providers].map(([id, place]) => [id, place.address()])
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(addresses), null, 2)}\n`, { mode: 0o600 })
}

type PlaceOptions = { readonly preferred?: Address; readonly host?: string; readonly isFixed?: boolean }

async function createPlace({ preferred, host = LOOPBACK, isFixed = false }: PlaceOptions): Promise<ReservedPort> {
  const refuse = (port: number) =>
    new AppError('conflict', { message: `port ${port} is taken: set PORT to a free one` })
  const claimed = preferred && (await claimAddress(preferred))
  if (isFixed && preferred && !claimed) throw refuse(preferred.port)
  let claim = claimed ?? (await claimAnywhere(host))
  let isLeft = false
  return {
    address: () => ({ host: claim.host, port: claim.port }),
    async secure() {
      const { host, port, release } = claim
      const isFree = await isPortFree(port, host)
      if (isFree && (isFixed || !isLeft)) return false
      if (isFixed) throw refuse(port)
      claim = await claimAnywhere(host)
      isLeft = false
      release()
      return true
    },
    leave() {
      isLeft = true
    },
    release: () => claim.release(),
  }
}

/** Claims a port of the host, or of 127.0.0.1 on a system without other loopback addresses. */
async function claimAnywhere(host: string) {
  return claimPort((await isPortFree(0, host)) ? host : LOOPBACK)
}
