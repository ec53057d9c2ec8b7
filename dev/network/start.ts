import { z } from 'zod'
import { freshDashboard } from '#bundle/dashboard.mjs'
import { PROVIDERS_FILE } from '#dev/seed/provider-addresses.ts'
import { readSeededKeys, SEEDED_KEYS_FILE } from '#dev/seed/seeded-keys.ts'
import { readSandboxProviders } from '#dev/seed/sellers.ts'
import type { Address } from '#dev/services/ports.ts'
import { waitUntil } from '#dev/services/wait-until.ts'
import { AppError } from '#shared/errors.ts'
import { PORT_TAKEN } from '#shared/exit-codes.ts'
import type { Crew } from './crew.ts'
import { givenEnvironment, originOf, planeEnvironment, settlerEnvironment, urlsOf } from './environment.ts'
import { fundTreasury } from './fund-treasury.ts'
import type { Home } from './home.ts'
import type { RunningProcess } from './member.ts'
import type { NetworkPlaces, ReservedPort } from './ports.ts'
import { choosePlaces, keepAddresses } from './ports.ts'
import type { Program, Programs } from './programs.ts'
import { createPrograms, tailOf } from './programs.ts'
import type { Sandbox } from './sandbox-file.ts'
import { keepSecrets } from './secrets.ts'
import type { Services } from './services.ts'
import { chainFacts, isSettler, startChain, startDatabase, startMoneyRedis } from './services.ts'

/** The providers that serve the queue of provider-h. */
const QUEUES = new Set(readSandboxProviders().flatMap(({ id, isQueue }) => (isQueue ? [id] : [])))

const READY_LIMIT_MS = 60_000
const READY_POLL_MS = 50
const ANSWER_LIMIT_MS = 2_000
/** Keys can pay meanwhile, so the market starts without payments by wallet. */
const WALLETS_LIMIT_MS = 15_000
/** The largest number of tries to start a provider whose port is taken between the check and the start. */
const MAX_PROVIDER_TRIES = 5

/** The names in `pids`, in the order of stopping: first the programs that accept calls, last those with the state. */
export const STOP_ORDER = [
  ['data_plane', 'history'],
  ['worker', 'control_plane'],
] as const
export const SERVICES = ['redis', 'postgres', 'chain'] as const
/** The members that know the address of each plane. Each gets the new address when the plane moves. */
const INFORMED_OF: Readonly<Record<string, readonly string[]>> = {
  data_plane: ['control_plane', 'worker'],
  control_plane: ['data_plane', 'worker'],
}
/** The only member that ends by itself in normal operation. */
export const HISTORY = 'history'

export type StartOptions = {
  readonly home: Home
  readonly crew: Crew
  readonly log: (line: string) => void
  /** The first port, when the caller named one. 0 picks any free port. */
  readonly port: number | undefined
  /** External services to use in place of the home's own. */
  readonly databaseUrl: string | undefined
  readonly redisUrl: string | undefined
  readonly chainRpcUrl: string | undefined
  /** The approximate number of calls over the last 30 days that the market shows at first. 0 creates none. */
  readonly history: number
  /** Creates new secrets when those of existing data are lost. */
  readonly newSecrets?: boolean
  /** Called once a member's port is chosen, just before the member starts there. Tests take the port at this moment. */
  readonly beforeStart?: (member: string, address: Address) => Promise<void>
}

const PaymentInfoSchema = z.object({ x402: z.object({ is_open: z.boolean() }) })

/** A running network. */
type Network = StartOptions & {
  readonly programs: Programs
  readonly places: NetworkPlaces
  /** The present environment of a program. */
  readonly environment: (program: string) => NodeJS.ProcessEnv
}

/**
 * Starts every process of the network, in parallel where possible, and resolves once all of them answer. The result
 * returns the content of `sandbox.json` at any later moment. Throws an AppError that quotes the log of a failed
 * process.
 */
export async function startNetwork(options: StartOptions): Promise<() => Sandbox> {
  const { home } = options
  const { newSecrets: mayReplace = false } = options
  const secrets = keepSecrets(home.path('secrets.json'), { data: home.path('postgres/PG_VERSION'), mayReplace })
  const file = home.path(PROVIDERS_FILE)
  const places = await choosePlaces({ first: options.port, providers: readSandboxProviders(), file })
  const { databaseUrl = '', redisUrl = '', chainRpcUrl = '' } = options
  const hasOwnChain = chainRpcUrl === ''
  const services: Services = { pageDir: undefined, databaseUrl, redisUrl, chainRpcUrl, hasOwnChain, wallets: undefined }
  const environment = (program: string) => {
    const facts = { home, places, secrets, ...services }
    return isSettler(program) ? settlerEnvironment(facts) : planeEnvironment(facts)
  }
  const programs = createPrograms()
  const network: Network = { ...options, places, environment, programs }
  const providers = startProviders(network)
  // The seeds are the first to wait for the providers.
  providers.catch(() => undefined)
  const chained = startChain(network, services)
  // The programs that settle on the chain are the first to wait for it.
  chained.catch(() => undefined)
  await Promise.all([startDatabase(network, services), startMoneyRedis(network, services)])
  const run = (name: string, args: readonly string[]) =>
    programs.run(name, { args, env: environment(name), logFile: home.path(`logs/${name}.log`) })

  const dataPlaneArgs = [...DATA_PLANE_FLAGS, ...profiling(), 'data-plane/main.ts']
  const paged = freshDashboard()
  // Only the control plane waits for the page.
  paged.catch(() => undefined)
  const migrated = run('migrate', ['control-plane/migrate.ts'])
  const afterwards = async (start: () => Promise<unknown>) => {
    await Promise.all([migrated, chained])
    return start()
  }
  await Promise.all([
    startPlane(network, 'data_plane', dataPlaneArgs, places.dataPlane),
    afterwards(async () => {
      services.pageDir = await paged
      await startPlane(network, 'control_plane', ['control-plane/main.ts', 'server'], places.controlPlane)
    }),
    afterwards(() => startPlane(network, 'worker', ['control-plane/main.ts', 'worker'], places.worker)),
    afterwards(() => providers.then(() => run('seed', ['dev/seed/main.ts']))),
    Promise.all([providers, chained]).then(() => tellOfChain(network, services.chainRpcUrl)),
  ])
  await waitForPlanes(network)
  // Members with the old address of a moved port are being restarted.
  await options.crew.settled()
  await waitForPlanes(network)
  const keys = readSeededKeys(home.path(SEEDED_KEYS_FILE))
  if (!keys) throw new AppError('internal_error', { message: 'the seeds left no keys' })
  const [seller_key = ''] = Object.values(keys.seller_keys)
  const shownKeys = { buyer_key: keys.buyer_key, seller_key, management_key: keys.management_key }
  const { wallets } = services
  if (hasOwnChain && wallets !== undefined && !process.env['TREASURY_ADDRESS']) {
    const { trpc_url: trpcUrl } = urlsOf(places)
    await fundTreasury({ rpcUrl: services.chainRpcUrl, trpcUrl, managementKey: keys.management_key, wallets })
  }
  if (hasOwnChain) await waitForWallets(network)
  if (options.history > 0) await startHistory(network)
  return () => ({
    ...urlsOf(places),
    database_url: services.databaseUrl,
    redis_url: services.redisUrl,
    ...chainFacts(services),
    ...shownKeys,
    pids: options.crew.pids(),
  })
}

/** Adds past calls while the market runs. The market does not wait for them. */
async function startHistory({ crew, home, history, environment, programs }: Network): Promise<void> {
  const args = ['dev/seed/history-main.ts', String(history)]
  const start = () => programs.start({ args, env: environment(HISTORY), logFile: home.path('logs/history.log') })
  await crew.add({ name: HISTORY, restart: 'never', start })
}

/**
 * With a large young generation, the short-lived objects of a call are collected early. Without it, V8 guesses at the
 * start which objects will live long. In about half of all starts it guessed wrong, the old space filled with the
 * garbage of calls, and streams lost a tenth of their rate. The image and `npm run data-plane` have the same flags.
 */
export const DATA_PLANE_FLAGS = [
  '--min-semi-space-size=64',
  '--max-semi-space-size=64',
  '--no-allocation-site-pretenuring',
]

/** With MARKET_PROFILE_DIR the data plane writes a CPU profile there when it ends. */
function profiling(): string[] {
  const folder = process.env['MARKET_PROFILE_DIR']
  return folder ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : []
}

/** Starts the providers and remembers their final addresses. */
async function startProviders(network: Network): Promise<void> {
  const { home, places } = network
  await Promise.all([...places.providers].map(([id, place]) => startProvider(network, id, place)))
  keepAddresses(home.path(PROVIDERS_FILE), places.providers)
}

/** Providers that sell chain reads forward them to this node. */
async function tellOfChain({ places }: Network, url: string): Promise<void> {
  for (const place of places.providers.values()) {
    const request = { method: 'POST', body: JSON.stringify({ url }), signal: AbortSignal.timeout(READY_LIMIT_MS) }
    await fetch(`${originOf(place)}/__sandbox/chain`, request)
  }
}

async function startProvider(network: Network, id: string, place: ReservedPort): Promise<void> {
  const { crew, home } = network
  const name = `provider_${id.replaceAll('-', '_')}`
  const logFile = home.path(`logs/provider-${id}.log`)
  const start = async () => {
    const { host, port } = await settle(network, name, place)
    const args = ['dev/provider/main.ts', '--host', host, '--port', String(port), '--name', id]
    if (QUEUES.has(id)) args.push('--queue')
    return startAt(network, place, { args, env: givenEnvironment(), logFile })
  }
  for (let attempt = 1; attempt <= MAX_PROVIDER_TRIES; attempt += 1) {
    const { exited } = await crew.add({ name, restart: 'never', start })
    if (await isUp(() => `${originOf(place)}/__sandbox/count`, exited)) return
  }
  throw new AppError('internal_error', { message: `${name} did not start:\n${tailOf(logFile)}` })
}

/** Starts a plane. When the plane moves, the members that know its address are restarted. */
function startPlane(
  network: Network,
  name: string,
  args: readonly string[],
  place: ReservedPort,
): Promise<RunningProcess> {
  const { crew, home, environment } = network
  const logFile = home.path(`logs/${name.replaceAll('_', '-')}.log`)
  const start = async () => {
    const { port } = await settle(network, name, place)
    return startAt(network, place, { args, env: { ...environment(name), PORT: String(port) }, logFile })
  }
  return crew.add({ name, restart: 'always', start })
}

/** The address for a member's next start. When the address moved, the members that know it are restarted. */
async function settle({ crew, beforeStart }: Network, name: string, place: ReservedPort): Promise<Address> {
  if (await place.secure()) void crew.renew(INFORMED_OF[name] ?? [])
  await beforeStart?.(name, place.address())
  return place.address()
}

/** Starts a program at an address, and gives the address up when the program finds it taken. */
async function startAt({ programs }: Network, place: ReservedPort, program: Program): Promise<RunningProcess> {
  const running = await programs.start(program)
  void running.exited.then((code) => {
    if (code === PORT_TAKEN) place.leave()
  })
  return running
}

async function waitForPlanes(network: Network): Promise<void> {
  const { dataPlane, controlPlane, worker } = network.places
  await Promise.all([
    waitForReady(network, 'control_plane', controlPlane),
    waitForReady(network, 'worker', worker),
    waitForReady(network, 'data_plane', dataPlane),
    waitForReady(network, 'data_plane', dataPlane, 'paid'),
  ])
}

/**
 * Waits until a 402 has the terms of payment. A plane is ready before, because calls with a key do not need the chain.
 */
async function waitForWallets({ log, places }: Network): Promise<void> {
  const isOpen = async () => {
    const reply = await answerOf(`${originOf(places.dataPlane)}/api/x402/info`)
    return reply?.ok === true && PaymentInfoSchema.parse(await reply.json()).x402.is_open
  }
  const isSaid = await waitUntil(isOpen, { limitMs: WALLETS_LIMIT_MS, everyMs: READY_POLL_MS })
  if (!isSaid) log('Wallets cannot pay for calls: the facilitator does not answer, or its account has no ETH.')
}

async function waitForReady(
  { home }: Network,
  name: string,
  place: ReservedPort,
  what: 'ready' | 'paid' = 'ready',
): Promise<void> {
  if (await isUp(() => `${originOf(place)}/health/${what}`)) return
  const log = tailOf(home.path(`logs/${name.replaceAll('_', '-')}.log`))
  throw new AppError('internal_error', { message: `${name} did not become ready:\n${log}` })
}

/** True once the present URL answers with success. False when it does not in time, or when its process has ended. */
async function isUp(url: () => string, exited?: Promise<unknown>): Promise<boolean> {
  let isOver = false
  void exited?.then(() => {
    isOver = true
  })
  const answers = async () => (await answerOf(url()))?.ok === true && !isOver
  return waitUntil(answers, { limitMs: READY_LIMIT_MS, everyMs: READY_POLL_MS }, () => isOver)
}

/** Sends one request. Undefined without an answer in time. */
function answerOf(url: string): Promise<Response | undefined> {
  return fetch(url, { signal: AbortSignal.timeout(ANSWER_LIMIT_MS) }).catch(() => undefined)
}
