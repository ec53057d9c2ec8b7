import { BASE_CHAIN_ID, BASE_USDC } from '#shared/chain-terms.ts'
import type { Home } from './home.ts'
import type { NetworkPlaces, ReservedPort } from './ports.ts'
import type { NetworkSecrets } from './secrets.ts'
import type { Wallets } from './wallets.ts'

export type PlaneFacts = {
  readonly home: Home
  readonly places: NetworkPlaces
  readonly secrets: NetworkSecrets
  readonly databaseUrl: string
  readonly redisUrl: string
}

/** The facts of a program that settles payments on the chain. */
export type SettlerFacts = PlaneFacts & {
  readonly chainRpcUrl: string
  /** True for the development chain of this network, false for an external chain. */
  readonly hasOwnChain: boolean
  readonly wallets: Wallets | undefined
  /** The folder of the built web page. */
  readonly pageDir: string | undefined
}

/** Variables of the control plane only. No other program gets them, because one of them is a key. */
const TREASURY_VARIABLES = [
  'TREASURY_ADDRESS',
  'TREASURY_PRIVATE_KEY',
  'TREASURY_KEY_FILE',
  'TREASURY_SIGNER_URL',
] as const
const SETTLER_VARIABLES = [
  'CHAIN_RPC_URL',
  'FACILITATOR_PRIVATE_KEY',
  'FACILITATOR_URL',
  ...TREASURY_VARIABLES,
] as const

export type NetworkUrls = {
  readonly base_url: string
  readonly api_base_url: string
  readonly control_plane_url: string
  readonly graphql_url: string
  readonly trpc_url: string
  readonly provider_url: string
  readonly facilitator_url: string
  readonly dashboard_url: string
}

/** The addresses of a network: origins without a trailing slash, and the endpoints of the two doors. */
export function urlsOf(places: NetworkPlaces): NetworkUrls {
  const dataPlane = originOf(places.dataPlane)
  const controlPlane = originOf(places.controlPlane)
  const [provider] = places.providers.values()
  return {
    base_url: dataPlane,
    api_base_url: dataPlane,
    control_plane_url: controlPlane,
    graphql_url: `${controlPlane}/graphql`,
    trpc_url: `${controlPlane}/trpc`,
    provider_url: provider === undefined ? '' : originOf(provider),
    facilitator_url: `${controlPlane}/facilitator`,
    dashboard_url: pageOf(places.dataPlane),
  }
}

/** The origin of a listening address. */
export function originOf(place: ReservedPort): string {
  const { host, port } = place.address()
  return `http://${host}:${port}`
}

/** The page's origin by host name, because passkeys do not work on IP addresses. */
function pageOf(place: ReservedPort): string {
  const { host, port } = place.address()
  return host === '127.0.0.1' ? `http://localhost:${port}` : `http://${host}:${port}`
}

/** The launcher's environment without the variables that only the control plane may have. */
export function givenEnvironment(): NodeJS.ProcessEnv {
  return { ...process.env, ...Object.fromEntries(SETTLER_VARIABLES.map((name) => [name, undefined])) }
}

/**
 * The environment of the control plane and its worker: that of every program, and the connection to the chain. A key
 * and a treasury in the launcher's environment take precedence over those of the home.
 */
export function settlerEnvironment(facts: SettlerFacts): NodeJS.ProcessEnv {
  const { chainRpcUrl, hasOwnChain, wallets, pageDir } = facts
  const own = { CHAIN_ID: String(BASE_CHAIN_ID), USDC_ADDRESS: BASE_USDC }
  return {
    // A block of the home's own chain comes with a transaction, and no other block follows.
    ...(hasOwnChain ? { CHAIN_CONFIRMATIONS: '1', TREASURY_FROM_BLOCK: '0' } : {}),
    // The sample seller is paid while a person watches.
    PAYOUT_EVERY_SECONDS: '30',
    PAYOUT_THRESHOLD_MICRO: '10000',
    ...planeEnvironment(facts),
    ...(hasOwnChain ? own : {}),
    PAGE_DIR: pageDir,
    SAMPLE_BUYER: wallets?.buyer.address,
    CHAIN_RPC_URL: chainRpcUrl,
    FACILITATOR_PRIVATE_KEY: process.env['FACILITATOR_PRIVATE_KEY'] || wallets?.facilitator.privateKey,
    FACILITATOR_URL: process.env['FACILITATOR_URL'],
    ...treasuryEnvironment(wallets),
  }
}

/** The treasury and its signer from the launcher's environment, or those of the home. */
function treasuryEnvironment(wallets: Wallets | undefined): NodeJS.ProcessEnv {
  if (process.env['TREASURY_ADDRESS']) {
    return Object.fromEntries(TREASURY_VARIABLES.map((name) => [name, process.env[name]]))
  }
  return { TREASURY_ADDRESS: wallets?.treasury.address, TREASURY_PRIVATE_KEY: wallets?.treasury.privateKey }
}

/** The environment of every program of the network, without its own ports. */
export function planeEnvironment(facts: PlaneFacts): NodeJS.ProcessEnv {
  const urls = urlsOf(facts.places)
  const ours = {
    NODE_ENV: 'development',
    HOST: '127.0.0.1',
    DATABASE_URL: facts.databaseUrl,
    REDIS_URL: facts.redisUrl,
    REDIS_CACHE_URL: process.env['REDIS_CACHE_URL'] ?? facts.redisUrl,
    BASE_URL: urls.base_url,
    API_BASE_URL: urls.api_base_url,
    CONTROL_PLANE_URL: urls.control_plane_url,
    JOURNAL_DIR: facts.home.path('journal'),
    SNAPSHOT_FILE: facts.home.path('snapshot.json'),
    NODE_ID: 'dev-1',
    ALLOW_LOOPBACK_UPSTREAMS: '1',
    MARKET_HOME: facts.home.root,
  }
  const defaults = {
    PLATFORM_FEE_BPS: '500',
    MONEY_BUCKETS: '1',
    LOG_LEVEL: 'info',
    DRAIN_MS: '10000',
    // All programs share the cores of this machine.
    MAX_EVENT_LOOP_DELAY_MS: '2000',
    // On one machine every caller has the same address.
    MAX_CONNECTIONS_PER_ADDRESS: '20000',
  }
  return { ...defaults, ...givenEnvironment(), ...ours, ...facts.secrets }
}
