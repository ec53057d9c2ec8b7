import type { ChildProcess } from 'node:child_process'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAddress } from 'viem/accounts'
import { z } from 'zod'
import { fundWallets } from '#dev/chain/fund-wallets.ts'
import { chainOf } from '#test/support/chain/chain.ts'
import { borrow } from '#test/support/run/borrowed.ts'
import type { TestDatabase } from '#test/support/run/database.ts'
import { createTestDatabase } from '#test/support/run/database.ts'
import { programArguments } from '#test/support/run/programs.ts'
import { ANY_LOOP_DELAY, until } from '#test/support/run/until.ts'
import { untilDayLasts } from '#test/support/run/until-day-lasts.ts'

const PrefixedHex = z.templateLiteral(['0x', z.string().regex(/^[0-9a-fA-F]+$/)])
const Sandbox = z.object({
  base_url: z.url(),
  api_base_url: z.url(),
  control_plane_url: z.url(),
  graphql_url: z.url(),
  trpc_url: z.url(),
  provider_url: z.url(),
  database_url: z.string(),
  redis_url: z.string(),
  rpc_url: z.url(),
  usdc_address: PrefixedHex,
  facilitator_url: z.url(),
  dashboard_url: z.url(),
  buyer_key: z.string(),
  seller_key: z.string(),
  management_key: z.string(),
  buyer_private_key: PrefixedHex,
  seller_private_key: PrefixedHex,
  pids: z.record(z.string(), z.number().int()),
})
export type Sandbox = z.infer<typeof Sandbox>

/** The whole market as started by `npm start`, in a home of its own. */
export type Network = {
  readonly home: string
  readonly sandbox: Sandbox
  /** The whole output of the supervisor. */
  output(): string
  /** Stops the market like Ctrl-C does and waits for its end. The home stays. */
  stop(): Promise<number | null>
  /** Starts again on the same home. */
  restart(): Promise<void>
  /** Stops the market and removes the home. */
  remove(): Promise<void>
}

const READY_MS = 110_000
const STOP_MS = 30_000

/**
 * The money of the development buyer, on a chain that another process started. `npm start` gives the same on its own
 * chain.
 */
const BUYER_MONEY = { usdcMicro: 1_000_000_000n, wei: 10n ** 17n }

/** The run's only chain and a database on its PostgreSQL, or a chain and a PostgreSQL that the market starts itself. */
type Services = 'shared' | 'own'

/** Starts a market. It takes payments by wallet on the run's chain, with a facilitator and a treasury of its own. */
export function startNetwork(environment: Environment = {}, services: Services = 'shared'): Promise<Network> {
  return startNetworkIn(tmpdir(), environment, services)
}

/** The time for which a shared market waits for the next file that uses it. */
const UNUSED_MS = 15_000
let shared: Promise<Network> | undefined
let ending: NodeJS.Timeout | undefined

/**
 * The only market of this worker for files that leave it unchanged: they make no money scarce, switch nothing off and
 * stop nothing. The market takes payments on the run's chain. It ends when no file uses it any more, because an idle
 * market takes a twentieth of a core. Each file gets a sample buyer's key of its own, because the calls of a key are
 * limited per minute.
 */
export async function sharedNetwork(): Promise<Network> {
  clearTimeout(ending)
  await untilDayLasts()
  borrow('the shared market', () => {
    ending = setTimeout(endShared, UNUSED_MS).unref()
  })
  shared ??= startShared()
  const network = await shared.catch((error: unknown) => {
    // The next file tries again.
    shared = undefined
    throw error
  })
  const buyerKey = await keyOfFile(network.sandbox)
  const refuse = () => Promise.reject(new Error('a shared market is not stopped'))
  return {
    ...network,
    sandbox: { ...network.sandbox, buyer_key: buyerKey },
    stop: refuse,
    restart: refuse,
    remove: () => Promise.resolve(),
  }
}

const KEY_KNOWN_MS = 20_000
const Made = z.object({ id: z.string(), key: z.string() })
/** The limit of calls per minute of the sample buyer's first key. */
const CALLS_PER_MINUTE = 1_000_000

let lastOfFile: string | undefined

/** Creates a key of the sample buyer in place of the last file's, and waits until calls can be made with it. */
async function keyOfFile({ api_base_url: url, buyer_key: first }: Sandbox): Promise<string> {
  const ask = (method: string, path: string, key: string, body?: object) =>
    fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body && { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      ...(body && { body: JSON.stringify(body) }),
    })
  const input = { label: 'a file of tests', rate_limit_rpm: CALLS_PER_MINUTE }
  const made = await ask('POST', '/v1/buyer/keys', first, input)
  const text = await made.text()
  if (!made.ok) throw new Error(`a file of tests gets no key: ${text}`)
  const { id, key } = Made.parse(JSON.parse(text))
  if (lastOfFile !== undefined) await ask('DELETE', `/v1/buyer/keys/${lastOfFile}`, first)
  lastOfFile = id
  await until('the key of a file is known', KEY_KNOWN_MS, async () => (await ask('GET', '/v1/key', key)).ok)
  return key
}

async function endShared(): Promise<void> {
  const ended = shared
  shared = undefined
  lastOfFile = undefined
  await (await ended)?.remove()
}

/** All tests send from one address, and often poll in vain before a state is reached. */
const PATIENT = { ADDRESS_WORK_PER_MINUTE: '1000000', ...ANY_LOOP_DELAY }

/**
 * Operator calls of a key, or of an address, a minute. Files read every screen and door within one minute, and each
 * file makes a key and deletes the last file's.
 */
const OPERATIONS_PER_MINUTE = 100_000

async function startShared(): Promise<Network> {
  const { inject } = await import('vitest')
  const network = await startNetworkIn(inject('sharedHomes'), {}, 'shared')
  const { trpc_url: url, management_key: key } = network.sandbox
  for (const name of ['read', 'write']) {
    const put = await fetch(`${url}/rateLimit.put`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ name, perKey: OPERATIONS_PER_MINUTE }),
    })
    if (put.ok) continue
    await network.remove()
    throw new Error(`the shared market keeps its limit of ${name} calls: ${await put.text()}`)
  }
  return network
}

type Environment = Readonly<Record<string, string>>

/** The command of `npm start`. Markets without services of their own start its bundle, which is a second faster. */
const AS_NPM_STARTS = ['--import', 'tsx', 'dev/main.ts']

async function startNetworkIn(folder: string, environment: Environment, services: Services): Promise<Network> {
  await untilDayLasts()
  const chain = services === 'shared' ? await chainOf() : undefined
  const payments = chain === undefined ? { CHAIN_RPC_URL: '' } : await chain.environment()
  const database = await databaseFor(environment, services)
  const DATABASE_URL = database?.url ?? ''
  const home = await mkdtemp(join(folder, 'market-'))
  let child: ChildProcess
  let printed = ''
  let sandbox: Sandbox

  async function start(): Promise<void> {
    const program = services === 'own' ? AS_NPM_STARTS : await programArguments('dev/main.ts')
    child = spawn(process.execPath, [...program, '--history', '0'], {
      env: { ...process.env, PORT: '0', DATABASE_URL, ...PATIENT, ...payments, ...environment, MARKET_HOME: home },
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
    sandbox = readSandbox(home)
  }

  async function stop(): Promise<number | null> {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGTERM')
      await until('the market has stopped', STOP_MS, () => child.exitCode !== null || child.signalCode !== null)
    }
    return child.exitCode
  }

  // When the test process dies, it ends its market.
  const abandon = () => child.kill('SIGTERM')
  process.once('exit', abandon)
  await start().catch(async (error: unknown) => {
    await stop()
    throw error
  })
  if (chain !== undefined) {
    const address = privateKeyToAddress(readSandbox(home).buyer_private_key)
    await fundWallets(chain.rpcUrl, [{ address, ...BUYER_MONEY }])
  }
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
      await database?.drop()
      await rm(home, { recursive: true, force: true })
    },
  }
}

/**
 * A migrated copy is ready sooner than a server of the market's own. A database named in the environment takes
 * precedence.
 */
async function databaseFor(environment: Environment, services: Services): Promise<TestDatabase | undefined> {
  if (services === 'own' || 'DATABASE_URL' in environment) return undefined
  return createTestDatabase(undefined, 1)
}

function readSandbox(home: string): Sandbox {
  return Sandbox.parse(JSON.parse(readFileSync(join(home, 'sandbox.json'), 'utf8')))
}
