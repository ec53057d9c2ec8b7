import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { DATA_PLANE_FLAGS } from '#dev/network/start.ts'
import type { Claim } from '#dev/services/ports.ts'
import { claimPort } from '#dev/services/ports.ts'
import type { OwnChain } from '#test/support/chain/chain.ts'
import { startChain } from '#test/support/chain/chain.ts'
import type { Relay } from '#test/support/chain/relay.ts'
import { startRelay } from '#test/support/chain/relay.ts'
import type { RpcRelay } from '#test/support/chain/rpc-relay.ts'
import { rpcRelay } from '#test/support/chain/rpc-relay.ts'
import { programArguments } from '#test/support/run/programs.ts'
import { ANY_LOOP_DELAY, until } from '#test/support/run/until.ts'
import type { Edit } from '#test/support/sources/replace-once.ts'
import type { Binaries } from './build.ts'
import { buildBinaries } from './build.ts'
import type { Buyer, Market } from './market.ts'
import { migrateDatabase, openMarket } from './market.ts'
import type { Environment, Exit, Program } from './process.ts'
import { createProgram } from './process.ts'
import type { WorldSecrets } from './secrets.ts'
import { makeSecrets } from './secrets.ts'
import type { AofPolicy, Server } from './servers.ts'
import { archiveOf, startPostgresServer, startRedisServer } from './servers.ts'

const BUYERS = 8
const BUYER_USD = 10_000
const GATE_OPEN_MS = 30_000
/** A model that answers at once, and one that streams a token per second. */
export const PLAIN = 'plain'
export const SLOW = 'slow'

export type WorldOptions = {
  /** The sync policy of the money Redis's log. By default it syncs every write. */
  readonly aof?: AofPolicy
  readonly workers?: number
  /** True when Postgres archives everything that a restore to any time needs; see {@link archiveOf}. */
  readonly keepsArchive?: boolean
  /** Gives the data planes a clock and limits that the row sets; see entries/data-plane.ts. */
  readonly control?: PlaneControl
  /** Additional environment of every process. */
  readonly environment?: Environment
  /** True when wallets pay as well, on a chain of this world behind a relay. */
  readonly hasChain?: boolean
  /** True when the control plane also signs for the treasury, which has money for gas only. */
  readonly hasSigner?: boolean
  /** Mistakes in the code of the world's programs. */
  readonly edits?: readonly Edit[]
}

/** Settings of a data plane that a row may change: the clock at any time, the limits of a call at a start. */
export type PlaneControl = {
  readonly offsetMs?: number
  readonly limits?: Readonly<Record<string, number>>
}

/** A whole market of real processes and servers. The connection between any two of them can be made to fail. */
export type World = {
  readonly folder: string
  readonly postgres: Server
  /** The present money Redis. */
  redis(): Server
  readonly cache: Server
  readonly dataPlanes: readonly [Program, Program]
  readonly control: Program
  readonly workers: readonly Program[]
  readonly providers: readonly [Program, Program]
  readonly relays: Readonly<Record<RelayName, Relay>>
  readonly market: Market
  readonly buyers: readonly Buyer[]
  /** The chain and the relay in front of it, in a world that has them. */
  readonly chain: WorldChain | undefined
  readonly secrets: WorldSecrets
  readonly exits: Exit[]
  /** Connects to the server directly, past every relay. */
  money(): Redis
  readonly sql: pg.Pool
  readonly journalDir: string
  readonly binaries: Binaries
  /** Changes the settings of data planes that were started with a control file. */
  setControl(control: PlaneControl): void
  /** The origin of a data plane, and the origin of a provider's admin port. */
  origin(index: number): string
  providerOrigin(index: number): string
  /** Waits until both data planes admit paid calls. */
  untilPaid(limitMs?: number): Promise<void>
  /** Removes a data plane's copy of the market from its disk. */
  dropSnapshot(index: number): Promise<void>
  /** Makes another server the money Redis for all processes. */
  promote(server: Server): void
  /** Ends every fault of a connection and starts every process and server that does not run. */
  heal(): Promise<void>
  remove(): Promise<void>
  /** Ends every process and keeps the folder, so that a person can look into it. */
  abandon(): Promise<void>
}

/** A chain that the settlement key reaches through a relay. */
export type WorldChain = { readonly chain: OwnChain; readonly rpc: RpcRelay; readonly environment: Environment }

const RELAYS = ['redis0', 'redis1', 'redisControl', 'redisWorker', 'postgres', 'sellerA', 'sellerB'] as const
const MONEY_RELAYS = ['redis0', 'redis1', 'redisControl', 'redisWorker'] as const
export type RelayName = (typeof RELAYS)[number]

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'faults-'))
  mkdirSync(join(folder, 'logs'))
  const journalDir = join(folder, 'journal')
  const exits: Exit[] = []
  const ports = await claimPorts(options.workers ?? 1)
  const secrets = makeSecrets()
  // A builder that ends would stop the work of another, so the sets of bundles are built in sequence.
  const provider = await programArguments('dev/provider/main.ts', '--host', '127.0.0.1')
  const binaries = buildBinaries(join(folder, 'bin'), options.edits)
  const chain = options.hasChain === true ? await startWorldChain(secrets, options.hasSigner === true) : undefined
  const program = (name: string, args: readonly string[], environment: Environment, readyUrl?: string) =>
    createProgram(
      {
        name,
        args,
        environment,
        logFile: join(folder, 'logs', `${name}.log`),
        ...(readyUrl === undefined ? {} : { readyUrl }),
      },
      exits,
    )

  const providers = ['a', 'b'].map((name, index) =>
    program(
      `provider-${name}`,
      [...provider, '--port', String(ports.provider(index)), '--name', name],
      {},
      `http://127.0.0.1:${ports.provider(index)}/__sandbox/count`,
    ),
  )
  const [postgres, firstRedis, cache] = await Promise.all([
    startPostgresServer(folder, options.keepsArchive),
    startRedisServer(folder, 'redis', options.aof ?? 'always'),
    startRedisServer(folder, 'cache', 'off'),
    ...providers.map((provider) => provider.start()),
  ])
  secrets.all.set('the password of Postgres', new URL(postgres.url()).password)
  let redis = firstRedis
  const relays = await startRelays({ postgres, redis, ports })
  const through = (relay: Relay, url: string) => {
    const relayed = new URL(url)
    relayed.port = String(relay.port)
    return relayed.href
  }
  const direct: Environment = {
    NODE_ENV: 'test',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'info',
    DATABASE_URL: postgres.url(),
    REDIS_URL: redis.url(),
    REDIS_CACHE_URL: cache.url(),
    JOURNAL_DIR: journalDir,
    BASE_URL: `http://127.0.0.1:${ports.dataPlane(0)}`,
    API_BASE_URL: `http://127.0.0.1:${ports.dataPlane(0)}`,
    CONTROL_PLANE_URL: `http://127.0.0.1:${ports.control}`,
    ALLOW_LOOPBACK_UPSTREAMS: '1',
    // Every client in this world has the same address.
    MAX_CONNECTIONS_PER_ADDRESS: '20000',
    ...ANY_LOOP_DELAY,
    ...secrets.environment,
    ...chain?.environment,
    ...options.environment,
  }
  mkdirSync(journalDir)
  const ready = (port: number) => `http://127.0.0.1:${port}/health/ready`
  const bin = await binaries
  const setControl = (control: PlaneControl) => {
    for (const index of [0, 1]) {
      const file = join(folder, `control-${index}.json`)
      // Because of the rename, a reader of the file sees all of it or none.
      writeFileSync(`${file}.new`, JSON.stringify(control))
      renameSync(`${file}.new`, file)
    }
  }
  setControl(options.control ?? {})
  const entry = options.control === undefined ? bin.dataPlane : bin.ownClock
  const dataPlane = (index: 0 | 1) =>
    program(
      `data-plane-${index}`,
      [...DATA_PLANE_FLAGS, entry],
      {
        ...direct,
        PORT: String(ports.dataPlane(index)),
        NODE_ID: `node-${index}`,
        REDIS_URL: relays[`redis${index}`].url,
        SNAPSHOT_FILE: join(folder, `snapshot-${index}.json`),
        FAULT_CONTROL_FILE: join(folder, `control-${index}.json`),
      },
      ready(ports.dataPlane(index)),
    )
  const controlPlane = (role: 'server' | 'worker', name: string, port: number) =>
    program(
      name,
      [bin.controlPlane, role],
      {
        ...direct,
        PORT: String(port),
        DATABASE_URL: through(relays.postgres, postgres.url()),
        REDIS_URL: role === 'server' ? relays.redisControl.url : relays.redisWorker.url,
      },
      ready(port),
    )
  const dataPlanes = [dataPlane(0), dataPlane(1)] as const
  const control = controlPlane('server', 'control-plane', ports.control)
  const workers = Array.from({ length: options.workers ?? 1 }, (_, index) =>
    controlPlane('worker', `worker-${index}`, ports.worker(index)),
  )
  await migrateDatabase(postgres.url())
  const processes = [...dataPlanes, control, ...workers]
  const starting = Promise.all([control, ...workers].map((each) => each.start()))
  const waitingPlanes = Promise.all(dataPlanes.map((each) => each.start({ isHasty: true })))
  let money = connectMoney(redis.url())
  const sql = new pg.Pool({ connectionString: postgres.url(), max: 3 })
  sql.on('error', () => undefined)
  await starting
  await until('the gate is open', GATE_OPEN_MS, async () => (await money.get('m:epoch'))?.endsWith(':open') ?? false)
  const market = await openMarket({
    environment: { ...direct, REDIS_URL: relays.redisControl.url },
    sellers: { a: `${relays.sellerA.url}/v1`, b: `${relays.sellerB.url}/v1` },
    secrets: secrets.all,
  })
  await market.model(PLAIN, SLOW)
  for (const [model, providerModel] of [
    [PLAIN, 'gpt-5-mini'],
    [SLOW, 'sandbox/drip'],
  ] as const) {
    await market.offer({ model, providerModel, seller: 'a', discount: 40 })
    await market.offer({ model, providerModel, seller: 'b', discount: 30 })
  }
  const buyers = await Promise.all(Array.from({ length: BUYERS }, () => market.buyer(BUYER_USD)))
  await waitingPlanes
  const untilPaid = async (limitMs = GATE_OPEN_MS) => {
    for (const index of [0, 1]) {
      await until(`node ${index} admits paid calls`, limitMs, () =>
        isOk(`http://127.0.0.1:${ports.dataPlane(index)}/health/paid`),
      )
    }
  }
  await untilPaid()

  return {
    folder,
    postgres,
    redis: () => redis,
    cache,
    dataPlanes,
    control,
    workers,
    providers: pairOf(providers),
    relays,
    market,
    buyers,
    chain,
    secrets,
    exits,
    money: () => money,
    sql,
    journalDir,
    binaries: bin,
    setControl,
    origin: (index) => `http://127.0.0.1:${ports.dataPlane(index)}`,
    providerOrigin: (index) => `http://127.0.0.1:${ports.provider(index)}`,
    untilPaid,
    dropSnapshot: (index) => rm(join(folder, `snapshot-${index}.json`), { force: true }),
    promote(server) {
      redis = server
      money.disconnect()
      money = connectMoney(server.url())
      for (const name of MONEY_RELAYS) relays[name].retarget(server.url())
    },
    async heal() {
      for (const relay of Object.values(relays)) relay.pass()
      chain?.rpc.pass()
      for (const server of [postgres, redis, cache]) if (!server.isRunning()) await server.start()
      for (const each of processes) {
        if (each.isRunning()) each.signal('SIGCONT')
        else await each.start({ isHasty: true })
      }
      for (const each of processes) await each.untilReady()
      await untilPaid()
    },
    async remove() {
      await end()
      for (const left of [folder, archiveOf(folder)]) await rm(left, { recursive: true, force: true })
    },
    abandon: end,
  }

  async function end(): Promise<void> {
    money.disconnect()
    await market.close()
    await sql.end()
    await Promise.all([...processes, ...providers].map((each) => each.kill()))
    await Promise.all([postgres.kill(), redis.kill(), cache.kill()])
    await Promise.all(Object.values(relays).map((relay) => relay.close()))
    await chain?.rpc.close()
    await chain?.chain.stop()
    ports.release()
  }
}

async function startWorldChain({ all }: WorldSecrets, hasSigner: boolean): Promise<WorldChain> {
  const chain = await startChain()
  const rpc = await rpcRelay(chain.rpcUrl)
  const environment = await chain.environment(rpc.url)
  all.set('the settlement key', environment.FACILITATOR_PRIVATE_KEY.slice(2))
  if (!hasSigner) return { chain, rpc, environment }
  const { address, privateKey } = await chain.newWallet({ eth: 10n ** 19n })
  all.set('the key of the treasury', privateKey.slice(2))
  return { chain, rpc, environment: { ...environment, TREASURY_ADDRESS: address, TREASURY_PRIVATE_KEY: privateKey } }
}

/** Ports that the processes of a world use again after every death. */
type Ports = {
  readonly control: number
  dataPlane(index: number): number
  worker(index: number): number
  provider(index: number): number
  release(): void
}

async function claimPorts(workers: number): Promise<Ports> {
  const all: Claim[] = []
  const claim = async () => {
    const claimed = await claimPort()
    all.push(claimed)
    return claimed.port
  }
  const several = async (count: number) => {
    const ports: number[] = []
    while (ports.length < count) ports.push(await claim())
    return (index: number) => ports[index] ?? 0
  }
  return {
    control: await claim(),
    dataPlane: await several(2),
    worker: await several(workers),
    provider: await several(2),
    release: () => all.forEach(({ release }) => void release()),
  }
}

function connectMoney(url: string): Redis {
  const redis = new Redis(url, { maxRetriesPerRequest: null, retryStrategy: () => 20 })
  redis.on('error', () => undefined)
  return redis
}

type Targets = { readonly postgres: Server; readonly redis: Server; readonly ports: Ports }

async function startRelays({ postgres, redis, ports }: Targets): Promise<Record<RelayName, Relay>> {
  const seller = (index: number) => `http://127.0.0.1:${ports.provider(index)}`
  const [redis0, redis1, redisControl, redisWorker, toPostgres, sellerA, sellerB] = await Promise.all([
    startRelay(redis.url()),
    startRelay(redis.url()),
    startRelay(redis.url()),
    startRelay(redis.url()),
    startRelay(postgres.url()),
    startRelay(seller(0)),
    startRelay(seller(1)),
  ])
  return { redis0, redis1, redisControl, redisWorker, postgres: toPostgres, sellerA, sellerB }
}

function pairOf<Item>([first, second]: readonly Item[]): readonly [Item, Item] {
  if (first === undefined || second === undefined) throw new Error('a pair has two members')
  return [first, second]
}

async function isOk(url: string): Promise<boolean> {
  return fetch(url, { signal: AbortSignal.timeout(1_000) }).then(
    (answer) => answer.ok,
    () => false,
  )
}
