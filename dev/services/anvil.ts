import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { AppError } from '#shared/errors.ts'
import { prepareState } from './chain-state.ts'
import { startHeld } from './held-process.ts'
import type { PortOf } from './ports.ts'
import { portFor } from './ports.ts'
import type { Service } from './postgres.ts'
import { makePrivateFolder } from './postgres-binaries.ts'
import { waitUntil } from './wait-until.ts'

const START_LIMIT_MS = 30_000
/** Tries to start. Another program may take a port between the check and the chain's start. */
const MAX_START_TRIES = 3
/**
 * A killed chain loses the blocks of about this many seconds. It loses more when it is busy and has thousands of
 * blocks, because each save writes them all.
 */
const STATE_INTERVAL_SECONDS = '2'
/**
 * The past states in memory, for reorganisations of this many blocks. Without a number all would be kept, and moved to
 * files in the user's home: 1.3 GB after 4,000 payments.
 */
const STATES_KEPT = '64'
/**
 * The gas limit of a block: the base, and a random part below the spread. The first block contains the limit, and its
 * hash identifies the chain. With one limit for all, two chains that begin in the same second would have the same hash.
 */
const GAS_LIMIT = 30_000_000
const GAS_LIMIT_SPREAD = 1_000_000

export type AnvilOptions = {
  readonly chainId: number
  /** The folder for its state. Without one the chain loses its state at its end. */
  readonly dataDir?: string
  readonly logFile: string
  readonly port?: PortOf
  /** Makes a block at this interval in seconds, in place of one for each transaction. */
  readonly blockSeconds?: number
  readonly log?: (line: string) => void
}

/** A development chain on a loopback port. It stops at `stop`, or when the launcher ends in any way. */
export async function startAnvil(options: AnvilOptions): Promise<Service> {
  const { dataDir, logFile } = options
  if (dataDir !== undefined) makePrivateFolder(dataDir)
  const stateFile = dataDir === undefined ? undefined : join(dataDir, 'state.json')
  if (stateFile !== undefined) prepareState(stateFile, options.log)
  for (let attempt = 1; attempt <= MAX_START_TRIES; attempt += 1) {
    const { port, release } = await portFor(options.port)
    const held = await startHeld({
      command: anvilBinary(),
      args: anvilArguments(options, port, stateFile),
      cwd: dataDir ?? process.cwd(),
      env: process.env,
      logFile,
      orphanSignal: 'TERM',
    })
    let isOver = false
    void held.exited.then(() => {
      isOver = true
      release()
    })
    const url = `http://127.0.0.1:${port}`
    const isReady = () => answersAs(url, options.chainId)
    if (await waitUntil(isReady, { limitMs: START_LIMIT_MS, everyMs: 20 }, () => isOver)) {
      const stop = async () => {
        await held.stop([
          { signal: 'TERM', waitMs: 10_000 },
          { signal: 'KILL', waitMs: 5_000 },
        ])
      }
      return { url, pid: held.pid, exited: held.exited, stop }
    }
    await held.stop([{ signal: 'KILL', waitMs: 5_000 }])
  }
  const tail = readFileSync(logFile, 'utf8').trim().split('\n').slice(-4).join(' | ')
  throw new AppError('internal_error', { message: `the chain did not start: ${tail}` })
}

/** True when the port answers with this chain's id. */
async function answersAs(url: string, chainId: number): Promise<boolean> {
  try {
    const reply = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}',
      signal: AbortSignal.timeout(1_000),
    })
    return (await reply.text()).includes(`"0x${chainId.toString(16)}"`)
  } catch {
    return false
  }
}

function anvilArguments(
  { chainId, blockSeconds }: AnvilOptions,
  port: number,
  stateFile: string | undefined,
): readonly string[] {
  const state = stateFile === undefined ? [] : ['--state', stateFile, '--state-interval', STATE_INTERVAL_SECONDS]
  const blocks = blockSeconds === undefined ? [] : ['--block-time', String(blockSeconds), '--mixed-mining']
  const fixed = [
    '--host',
    '127.0.0.1',
    '--port',
    String(port),
    '--chain-id',
    String(chainId),
    '--accounts',
    '0',
    '--prune-history',
    STATES_KEPT,
    '--gas-limit',
    String(GAS_LIMIT + randomInt(GAS_LIMIT_SPREAD)),
  ]
  return [...fixed, ...state, ...blocks, '--silent']
}

/** The program itself, because a wrapper would survive a kill. It is in the package for the platform. */
function anvilBinary(): string {
  const arch = process.arch === 'x64' ? 'amd64' : process.arch
  const name = `@foundry-rs/anvil-${process.platform}-${arch}`
  const { resolve } = createRequire(import.meta.url)
  try {
    return join(dirname(resolve(`${name}/package.json`)), 'bin', 'anvil')
  } catch (cause) {
    const message = `the chain for ${process.platform}-${process.arch} is not installed: set CHAIN_RPC_URL, or run npm install with optional packages`
    throw new AppError('internal_error', { message, cause })
  }
}
