import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { chainOf } from './chain.ts'
import { until } from './until.ts'

const Sandbox = z.object({
  base_url: z.url(),
  api_base_url: z.url(),
  control_plane_url: z.url(),
  graphql_url: z.url(),
  trpc_url: z.url(),
  provider_url: z.url(),
  database_url: z.string(),
  redis_url: z.string(),
  buyer_key: z.string(),
  seller_key: z.string(),
  management_key: z.string(),
  pids: z.record(z.string(), z.number().int()),
})
export type Sandbox = z.infer<typeof Sandbox>

/** The whole market as `npm start` runs it, in a home of its own. */
export type Network = {
  readonly home: string
  readonly sandbox: Sandbox
  /** Everything that the supervisor has printed. */
  output(): string
  /** Stops the market as Ctrl-C does and waits for its end. The home stays. */
  stop(): Promise<number | null>
  /** Starts again on the same home. */
  restart(): Promise<void>
  /** Stops the market and removes the home. */
  remove(): Promise<void>
}

const READY_MS = 110_000
const STOP_MS = 30_000

export function startNetwork(environment: Record<string, string> = {}): Promise<Network> {
  return startNetworkIn(tmpdir(), environment)
}

let shared: Promise<Network> | undefined

/**
 * The one market of this worker for files that leave it as they found it: they make no money scarce, switch nothing off
 * and stop nothing. It takes payments on the run's chain. It ends with the worker; the run removes its home.
 */
export async function sharedNetwork(): Promise<Network> {
  shared ??= startShared()
  const network = await shared
  const refuse = () => Promise.reject(new Error('a shared market is not stopped'))
  return { ...network, sandbox: network.sandbox, stop: refuse, restart: refuse, remove: () => Promise.resolve() }
}

async function startShared(): Promise<Network> {
  const [chain, { inject }] = await Promise.all([chainOf(), import('vitest')])
  return startNetworkIn(inject('sharedHomes'), await chain.environment())
}

async function startNetworkIn(folder: string, environment: Record<string, string>): Promise<Network> {
  const home = await mkdtemp(join(folder, 'market-'))
  let child: ChildProcess
  let printed = ''
  let sandbox: Sandbox

  async function start(): Promise<void> {
    child = spawn(process.execPath, ['--import', 'tsx', 'dev/main.ts', '--history', '0'], {
      env: { ...process.env, PORT: '0', ...environment, MARKET_HOME: home },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8')
      stream?.on('data', (text: string) => {
        printed += text
      })
    }
    const file = join(home, 'sandbox.json')
    await until('the market is ready', READY_MS, () => {
      if (child.exitCode !== null) throw new Error(`the market ended early:\n${printed}`)
      return existsSync(file)
    })
    sandbox = Sandbox.parse(JSON.parse(readFileSync(file, 'utf8')))
  }

  async function stop(): Promise<number | null> {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await until('the market has stopped', STOP_MS, () => child.exitCode !== null || child.signalCode !== null)
    }
    return child.exitCode
  }

  // When the harness dies, it ends its market.
  const abandon = () => child.kill('SIGTERM')
  process.once('exit', abandon)
  await start()
  return {
    home,
    get sandbox() {
      return sandbox
    },
    output: () => printed,
    stop,
    restart: async () => {
      await stop()
      await start()
    },
    remove: async () => {
      await stop()
      process.off('exit', abandon)
      await rm(home, { recursive: true, force: true })
    },
  }
}
