import { readSandboxProviders } from '#dev/seed/sellers.ts'
import { waitUntil } from '#dev/services/free-port.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { AppError } from '#shared/errors.ts'
import type { Crew, Running } from './crew.ts'
import { planeEnvironment, urlsOf } from './environment.ts'
import type { Home } from './home.ts'
import type { NetworkPorts } from './ports.ts'
import { choosePorts, PROVIDERS_FILE } from './ports.ts'
import { runProgram, startProgram, tailOf } from './programs.ts'
import type { Sandbox } from './sandbox-file.ts'
import { keepSecrets } from './secrets.ts'
import { readSeededKeys, SEEDED_KEYS_FILE } from './seeded-keys.ts'

const READY_LIMIT_MS = 60_000
const READY_POLL_MS = 50

/** Names in `pids`, and the order of stopping: who takes calls first, who keeps the state last. */
export const STOP_ORDER = [
  ['data_plane', 'history'],
  ['worker', 'control_plane'],
] as const
export const SERVICES = ['redis', 'postgres'] as const
/** The one member that ends by itself when all is well. */
export const HISTORY = 'history'

export type StartOptions = {
  readonly home: Home
  readonly crew: Crew
  readonly log: (line: string) => void
  /** The first port, when the caller named one. */
  readonly port: number | undefined
  /** Services to use in place of our own. */
  readonly databaseUrl: string | undefined
  readonly redisUrl: string | undefined
  /** About how many calls the market made over the last 30 days before it is first seen; none for 0. */
  readonly history: number
}

/**
 * Starts every process of the network, side by side where nothing has to wait, and gives what `sandbox.json` says when
 * all of them answer. Throws an AppError that quotes the log of whatever failed.
 */
export async function startNetwork(options: StartOptions): Promise<Sandbox> {
  const { home } = options
  const secrets = keepSecrets(home.path('secrets.json'))
  const ports = await choosePorts({
    first: options.port,
    providers: readSandboxProviders(),
    file: home.path(PROVIDERS_FILE),
  })
  const providers = startProviders(options, ports)
  const [databaseUrl, redisUrl] = await Promise.all([databaseOf(options), redisOf(options), providers])
  const env = planeEnvironment({ home, ports, secrets, databaseUrl, redisUrl })
  const urls = urlsOf(ports)
  const run = (name: string, args: readonly string[]) =>
    runProgram(name, { args, env, logFile: home.path(`logs/${name}.log`) })

  const dataPlane = startPlane(options, 'data_plane', [...DATA_PLANE_FLAGS, ...profiling(), 'data-plane/main.ts'], {
    ...env,
    PORT: String(ports.dataPlane),
  })
  await run('migrate', ['control-plane/migrate.ts'])
  const controlEnv = { ...env, PORT: String(ports.controlPlane) }
  await Promise.all([
    dataPlane,
    startPlane(options, 'control_plane', ['control-plane/main.ts', 'server'], controlEnv),
    startPlane(options, 'worker', ['control-plane/main.ts', 'worker'], {
      ...env,
      PORT: String(ports.worker),
    }),
    run('seed', ['dev/seed/main.ts']),
  ])
  await Promise.all([
    waitForReady(options, 'control_plane', urls.control_plane_url),
    waitForReady(options, 'worker', `http://127.0.0.1:${ports.worker}`),
    waitForReady(options, 'data_plane', urls.base_url),
    waitForReady(options, 'data_plane', urls.base_url, 'paid'),
  ])
  const keys = readSeededKeys(home.path(SEEDED_KEYS_FILE))
  if (!keys) throw new AppError('internal_error', { message: 'the seeds left no keys' })
  const [seller_key = ''] = Object.values(keys.seller_keys)
  const shown = { buyer_key: keys.buyer_key, seller_key, management_key: keys.management_key }
  if (options.history > 0) await startHistory(options, env)
  return { ...urls, database_url: databaseUrl, redis_url: redisUrl, ...shown, pids: options.crew.pids() }
}

/** Fills in the past beside the running market, which does not wait for it. */
async function startHistory({ crew, home, history }: StartOptions, env: NodeJS.ProcessEnv): Promise<void> {
  const args = ['dev/seed/history-main.ts', String(history)]
  const start = () => startProgram({ args, env, logFile: home.path('logs/history.log') })
  await crew.add({ name: HISTORY, restart: 'never', start })
}

/** A large nursery lets a call's garbage die young. The image and `npm run data-plane` have the same flags. */
export const DATA_PLANE_FLAGS = ['--min-semi-space-size=64', '--max-semi-space-size=64']

/** With MARKET_PROFILE_DIR the data plane leaves a CPU profile there when it ends. */
function profiling(): string[] {
  const folder = process.env['MARKET_PROFILE_DIR']
  return folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : []
}

async function startProviders({ crew, home }: StartOptions, ports: NetworkPorts): Promise<void> {
  const starts = [...ports.providers].map(([id, { host, port }]) => {
    const args = ['dev/provider/main.ts', '--host', host, '--port', String(port), '--name', id]
    const logFile = home.path(`logs/provider-${id}.log`)
    return crew.add({
      name: `provider_${id.replaceAll('-', '_')}`,
      restart: 'never',
      start: () => startProgram({ args, env: process.env, logFile }),
    })
  })
  await Promise.all(starts)
}

/** The URL of PostgreSQL: the one given, or that of our own, which keeps its port when it has to be started again. */
async function databaseOf({ crew, home, databaseUrl }: StartOptions): Promise<string> {
  if (databaseUrl) return databaseUrl
  let port: number | undefined
  const start = async () => {
    const service = await startPostgres({
      dataDir: home.path('postgres'),
      logFile: home.path('logs/postgres.log'),
      ...(port === undefined ? {} : { port }),
    })
    port = Number(new URL(service.url).port)
    return service
  }
  return (await crew.add({ name: 'postgres', restart: 'always', start })).url
}

/** The URL of Redis, likewise. */
async function redisOf({ crew, home, redisUrl, log }: StartOptions): Promise<string> {
  if (redisUrl) return redisUrl
  let port: number | undefined
  const start = async () => {
    const service = await startRedis({
      dataDir: home.path('redis'),
      logFile: home.path('logs/redis.log'),
      log,
      ...(port === undefined ? {} : { port }),
    })
    port = Number(new URL(service.url).port)
    return service
  }
  return (await crew.add({ name: 'redis', restart: 'always', start })).url
}

function startPlane(
  { crew, home }: StartOptions,
  name: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Running> {
  const logFile = home.path(`logs/${name.replaceAll('_', '-')}.log`)
  return crew.add({ name, restart: 'always', start: () => startProgram({ args, env, logFile }) })
}

/** A process by its name in `pids`, its origin, and which of its health answers has to be good. */
type WaitedFor = [name: string, origin: string, what?: 'ready' | 'paid']

async function waitForReady({ home }: StartOptions, ...[name, origin, what = 'ready']: WaitedFor): Promise<void> {
  const answers = () =>
    fetch(`${origin}/health/${what}`, { signal: AbortSignal.timeout(2_000) }).then(
      (reply) => reply.ok,
      () => false,
    )
  if (await waitUntil(answers, { limitMs: READY_LIMIT_MS, everyMs: READY_POLL_MS })) return
  const log = tailOf(home.path(`logs/${name.replaceAll('_', '-')}.log`))
  throw new AppError('internal_error', { message: `${name} did not become ready:\n${log}` })
}
