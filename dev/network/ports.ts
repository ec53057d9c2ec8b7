import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { SandboxProvider } from '#dev/seed/sellers.ts'
import { findFreePort, isPortFree } from '#dev/services/free-port.ts'
import { AppError } from '#shared/errors.ts'

const DEFAULT_PORT = 8_402
/** Where the providers listen: the first port and this. */
const PROVIDER_OFFSET = 10

const KeptSchema = z.record(z.string(), z.object({ host: z.string(), port: z.number().int() }))

export type Address = { readonly host: string; readonly port: number }

export type NetworkPorts = {
  readonly dataPlane: number
  readonly controlPlane: number
  /** Where the worker tells its health. */
  readonly worker: number
  /** By provider id; the same on every start of a home while they are free, because offers name them. */
  readonly providers: ReadonlyMap<string, Address>
}

export type PortWishes = {
  /** The first port, when the caller named one: then it must be free. */
  readonly first: number | undefined
  readonly providers: readonly SandboxProvider[]
  /** Where provider addresses are remembered. */
  readonly file: string
}

/** The remembered addresses of the providers, by id. */
export function readProviderAddresses(file: string): ReadonlyMap<string, Address> {
  return new Map(Object.entries(KeptSchema.parse(JSON.parse(readFileSync(file, 'utf8')))))
}

/** Where a home remembers them, by the name inside it. */
export const PROVIDERS_FILE = 'providers.json'

/** Picks the ports of a network. Throws an AppError when the port asked for is taken. */
export async function choosePorts(wishes: PortWishes): Promise<NetworkPorts> {
  const first = wishes.first ?? DEFAULT_PORT
  const isFree = await isPortFree(first)
  if (!isFree && wishes.first !== undefined) {
    throw new AppError('conflict', { message: `port ${first} is taken: set PORT to a free one` })
  }
  const dataPlane = isFree ? first : await findFreePort()
  const next = dataPlane + 1
  const controlPlane = (await isPortFree(next)) ? next : await findFreePort()
  const worker = await findFreePort()
  const providers = await providerAddresses(wishes, first + PROVIDER_OFFSET)
  return { dataPlane, controlPlane, worker, providers }
}

async function providerAddresses(wishes: PortWishes, port: number): Promise<ReadonlyMap<string, Address>> {
  const kept = existsSync(wishes.file) ? KeptSchema.parse(JSON.parse(readFileSync(wishes.file, 'utf8'))) : {}
  const chosen = new Map<string, Address>()
  for (const { id, host } of wishes.providers) chosen.set(id, await addressFor(kept[id] ?? { host, port }))
  writeFileSync(wishes.file, `${JSON.stringify(Object.fromEntries(chosen), null, 2)}\n`, { mode: 0o600 })
  return chosen
}

/** The wished address, else a free port of its host, else one of 127.0.0.1 where a system knows no other loopback. */
async function addressFor(wish: Address): Promise<Address> {
  if (await isPortFree(wish.port, wish.host)) return wish
  try {
    return { host: wish.host, port: await findFreePort(wish.host) }
  } catch {
    return { host: '127.0.0.1', port: await findFreePort() }
  }
}
