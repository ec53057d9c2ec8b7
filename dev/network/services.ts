import { placeContracts } from '#dev/chain/place-contracts.ts'
import { startAnvil } from '#dev/services/anvil.ts'
import type { Address, PortOf } from '#dev/services/ports.ts'
import type { Service } from '#dev/services/postgres.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { BASE_CHAIN_ID, BASE_USDC } from '#shared/chain-terms.ts'
import type { Crew } from './crew.ts'
import type { Home } from './home.ts'
import type { NetworkPlaces, ReservedPort } from './ports.ts'
import type { Wallets } from './wallets.ts'
import { firstMoney, keepWallets, renewTreasury } from './wallets.ts'

/** The members that receive the addresses of the services. */
const PLANES = ['data_plane', 'control_plane', 'worker'] as const
/** The members that receive the address of the chain. */
const SETTLERS = ['control_plane', 'worker'] as const

/** The parts of a network that its services use. */
export type ServiceHost = {
  readonly home: Home
  readonly crew: Crew
  readonly log: (line: string) => void
  readonly places: NetworkPlaces
  /** Called once a member's port is chosen, just before the member starts there. Tests take the port at this moment. */
  readonly beforeStart?: (member: string, address: Address) => Promise<void>
}

/** The services, once they answer. A service that moves changes its own URL. An external service is never started. */
export type Services = {
  databaseUrl: string
  redisUrl: string
  chainRpcUrl: string
  /** True for the home's own development chain, false for an external chain. */
  readonly hasOwnChain: boolean
  /** The wallets of the home, once they exist. They have money on the home's own chain. */
  wallets: Wallets | undefined
  /** The built web page, once it exists. */
  pageDir: string | undefined
}

/** True for a program that sends transactions to the chain. */
export function isSettler(program: string): boolean {
  return SETTLERS.some((name) => name === program)
}

/** Facts about the chain for people. */
export function chainFacts({ chainRpcUrl, hasOwnChain, wallets }: Services) {
  return {
    rpc_url: chainRpcUrl,
    usdc_address: (hasOwnChain ? undefined : process.env['USDC_ADDRESS']) || BASE_USDC,
    buyer_private_key: wallets?.buyer.privateKey ?? '',
    seller_private_key: wallets?.seller.privateKey ?? '',
  }
}

/** Starts the home's own PostgreSQL, unless an external one is used. */
export function startDatabase(host: ServiceHost, services: Services): Promise<void> {
  if (services.databaseUrl !== '') return Promise.resolve()
  const { home, places } = host
  const files = { dataDir: home.path('postgres'), logFile: home.path('logs/postgres.log') }
  return startService(host, { name: 'postgres', place: places.postgres, dependents: PLANES }, async (port) => {
    const service = await startPostgres({ ...files, port })
    services.databaseUrl = service.url
    return service
  })
}

/** Starts the home's own Redis, unless an external one is used. */
export function startMoneyRedis(host: ServiceHost, services: Services): Promise<void> {
  if (services.redisUrl !== '') return Promise.resolve()
  const { home, places, log } = host
  const files = { dataDir: home.path('redis'), logFile: home.path('logs/redis.log') }
  return startService(host, { name: 'redis', place: places.redis, dependents: PLANES }, async (port) => {
    const service = await startRedis({ ...files, log, port })
    services.redisUrl = service.url
    return service
  })
}

/** Creates the wallets of the home, and starts its own chain unless an external one is used. */
export async function startChain(host: ServiceHost, services: Services): Promise<void> {
  const { home, places, log, crew } = host
  const walletsFile = home.path('wallets.json')
  const { wallets, areNew } = await keepWallets(walletsFile)
  services.wallets = wallets
  if (!services.hasOwnChain) {
    if (!process.env['FACILITATOR_PRIVATE_KEY'])
      log(`payments are settled by ${wallets.facilitator.address}, which needs ETH on the given chain`)
    return
  }
  const files = { dataDir: home.path('chain'), logFile: home.path('logs/chain.log') }
  let isFirst = areNew
  await startService(host, { name: 'chain', place: places.chain, dependents: SETTLERS }, async (port) => {
    const service = await startAnvil({ ...files, chainId: BASE_CHAIN_ID, log, port })
    try {
      const isNew = await placeContracts(service.url, firstMoney(wallets))
      if (isNew && !isFirst) {
        log(BEGAN_ANEW)
        services.wallets = await renewTreasury(walletsFile, services.wallets ?? wallets)
        void crew.renew(SETTLERS)
      }
      // The keys of an older chain's wallets are lost.
      if (!isNew && isFirst) await fund(service.url, wallets)
    } catch (error) {
      await service.stop()
      throw error
    }
    isFirst = false
    services.chainRpcUrl = service.url
    return service
  })
}

/** The large library is loaded only when it is needed. */
async function fund(url: string, wallets: Wallets): Promise<void> {
  const { fundWallets } = await import('#dev/chain/fund-wallets.ts')
  await fundWallets(url, firstMoney(wallets))
}

const BEGAN_ANEW =
  'the chain began anew, and the books are older: payments that they know are not on it, and the development wallets have their first money again. A new treasury takes deposits and pays sellers from now on'

type Seat = { readonly name: string; readonly place: ReservedPort; readonly dependents: readonly string[] }

/**
 * Starts a service. It keeps its port through restarts. When it moves, the members that know the port receive the new
 * one.
 */
async function startService(
  { crew, beforeStart }: ServiceHost,
  { name, place, dependents }: Seat,
  launch: (port: PortOf) => Promise<Service>,
): Promise<void> {
  let hasMoved = false
  const start = async () => {
    const service = await launch(async () => {
      hasMoved = (await place.secure()) || hasMoved
      await beforeStart?.(name, place.address())
      return place.address().port
    })
    // Processes that use the address get it only now, because the service itself reports its final one.
    if (hasMoved) void crew.renew(dependents)
    hasMoved = false
    return service
  }
  await crew.add({ name, restart: 'always', start })
}
