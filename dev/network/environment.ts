import type { Home } from './home.ts'
import type { NetworkPlaces, Place } from './ports.ts'
import type { NetworkSecrets } from './secrets.ts'

export type PlaneFacts = {
  readonly home: Home
  readonly places: NetworkPlaces
  readonly secrets: NetworkSecrets
  readonly databaseUrl: string
  readonly redisUrl: string
}

export type NetworkUrls = {
  readonly base_url: string
  readonly api_base_url: string
  readonly control_plane_url: string
  readonly graphql_url: string
  readonly trpc_url: string
  readonly provider_url: string
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
  }
}

/** The origin of what listens at a place. */
export function originOf(place: Place): string {
  const { host, port } = place.address()
  return `http://${host}:${port}`
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
  return { ...defaults, ...process.env, ...ours, ...facts.secrets }
}
