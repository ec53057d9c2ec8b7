import { readFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { AppError } from '#shared/errors.ts'

export type Address = { readonly host: string; readonly port: number }

/** An address that no other claiming program takes, until its release or the end of this process. */
export type Claim = Address & { readonly release: () => void }

export type PortRange = { readonly first: number; readonly last: number }

const LOOPBACK = '127.0.0.1'
/** Linux' file with the range of ports for outgoing connections and for listeners on port 0. */
const KERNEL_RANGE_FILE = '/proc/sys/net/ipv4/ip_local_port_range'
/** Known services use the ports below by habit. */
const LOWEST = 10_000
const HIGHEST = 65_535
/** A smaller range is not worth searching. */
const LEAST_ROOM = 1_000
/** The range for a kernel that does not report its own, or that assigns nearly every port. */
export const FALLBACK_RANGE: PortRange = { first: 20_000, last: 31_999 }
const MAX_PORTS_TRIED = 500

/** The ports that the kernel does not assign. A free one stays free until a program names it. */
export function namedPorts(kernelRange = readKernelRange()): PortRange {
  const given = /^(\d+)\s+(\d+)/.exec(kernelRange)
  if (!given) return FALLBACK_RANGE
  const below = { first: LOWEST, last: Number(given[1]) - 1 }
  const above = { first: Math.max(LOWEST, Number(given[2]) + 1), last: HIGHEST }
  const room = ({ first, last }: PortRange) => last - first + 1
  return [below, above].find((range) => room(range) >= LEAST_ROOM) ?? FALLBACK_RANGE
}

function readKernelRange(): string {
  try {
    return readFileSync(KERNEL_RANGE_FILE, 'utf8')
  } catch {
    return ''
  }
}

/** Called for the port before each try to listen. */
export type PortOf = () => Promise<number>

/** The port from the caller, or a port that is claimed until its release. */
export async function portFor(say: PortOf | undefined): Promise<Pick<Claim, 'port' | 'release'>> {
  return say === undefined ? claimPort() : { port: await say(), release: () => undefined }
}

/** Claims a free port of a loopback address. */
export async function claimPort(host = LOOPBACK): Promise<Claim> {
  const { first, last } = namedPorts()
  for (let tries = 0; tries < MAX_PORTS_TRIED; tries++) {
    const claim = await claimAddress({ host, port: first + Math.floor(Math.random() * (last - first + 1)) })
    if (claim) return claim
  }
  throw new AppError('internal_error', { message: `no port of ${host} is free` })
}

/** Claims one address. Undefined when another process has claimed it or listens there. */
export async function claimAddress({ host, port }: Address): Promise<Claim | undefined> {
  // An abstract name in the kernel needs no file and disappears with its process. The second claimer must not even try
  // the port, because a child of the first may be about to listen there.
  const mark = createServer()
  const outcome = await listen(mark, { path: `\0inference-marketplace ${host}:${port}` })
  if (outcome === 'EADDRINUSE') return undefined
  mark.unref()
  const release = () => void mark.close(() => undefined)
  if (await isPortFree(port, host)) return { host, port, release }
  release()
  return undefined
}

/** True when the port can be listened on. */
export async function isPortFree(port: number, host = LOOPBACK): Promise<boolean> {
  const server = createServer()
  if ((await listen(server, { port, host })) !== undefined) return false
  await new Promise((resolve) => server.close(resolve))
  return true
}

/** Listens. Returns the code of an error. */
function listen(
  server: ReturnType<typeof createServer>,
  where: { path: string } | { port: number; host: string },
): Promise<string | undefined> {
  return new Promise((resolve) => {
    server.once('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    server.listen(where, () => resolve(undefined))
  })
}

/** Sends a text to a port and returns the first bytes of its reply. Undefined when none came in time. */
export async function askPort(port: number, text: string, limitMs = 1_000): Promise<string | undefined> {
  const socket = connect({ port, host: LOOPBACK })
  try {
    return await new Promise<string | undefined>((resolve) => {
      socket.setTimeout(limitMs, () => resolve(undefined))
      socket.once('error', () => resolve(undefined))
      socket.once('close', () => resolve(undefined))
      socket.once('data', (bytes) => resolve(bytes.toString('latin1')))
      socket.write(text)
    })
  } finally {
    socket.destroy()
  }
}
