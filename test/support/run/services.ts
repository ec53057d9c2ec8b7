import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { z } from 'zod'
import { placeContracts } from '#dev/chain/place-contracts.ts'
import { startAnvil } from '#dev/services/anvil.ts'
import type { Service } from '#dev/services/postgres.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { waitUntil } from '#dev/services/wait-until.ts'
import { BASE_CHAIN_ID } from '#shared/chain-terms.ts'

const MARKETS_END_MS = 30_000

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the run's own PostgreSQL and its empty database `market`. Each test file makes a database of its own. */
    postgresUrl: string
    /** URL of the run's own Redis. Each test file uses its own key prefixes or database number. */
    redisUrl: string
    /** URL of the run's own chain with its contracts. Each test makes wallets of its own. */
    chainRpcUrl: string
    /** The folder for the homes of markets that files share. */
    sharedHomes: string
  }
}

/**
 * Starts one real PostgreSQL, one real Redis and one chain for the whole run, in a folder that is removed at its end.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'market-test-'))
  // No file outlives the run, so none has to survive a power cut.
  const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '300' }
  const [postgres, redis, chain] = await Promise.all([
    startPostgres({ dataDir: join(folder, 'postgres'), settings }),
    startRedis({ dataDir: join(folder, 'redis'), extraConfig: { databases: '256', appendfsync: 'everysec' } }),
    startSharedChain(join(folder, 'chain.log')),
  ])
  project.provide('postgresUrl', postgres.url)
  project.provide('redisUrl', redis.url)
  project.provide('chainRpcUrl', chain.url)
  const homes = join(folder, 'homes')
  mkdirSync(homes)
  // A database that root starts belongs to another user, who needs access to this folder.
  chmodSync(folder, 0o755)
  project.provide('sharedHomes', homes)
  return async () => {
    await endMarkets(homes)
    await Promise.all([postgres.stop(), redis.stop(), chain.stop()])
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  }
}

const Lock = z.object({ owner: z.object({ pid: z.number().int() }) })

/**
 * Ends the shared markets, whose workers still run and no longer use them. A market needs its database to stop
 * gracefully.
 */
async function endMarkets(homes: string): Promise<void> {
  const locks = readdirSync(homes)
    .map((home) => join(homes, home, 'lock.json'))
    .filter((lock) => existsSync(lock))
  for (const lock of locks) endMarket(lock)
  // A market removes its lock when all of its processes are over.
  const isOver = () => Promise.resolve(!locks.some((lock) => existsSync(lock)))
  await waitUntil(isOver, { limitMs: MARKETS_END_MS, everyMs: 100 })
}

function endMarket(lock: string): void {
  try {
    process.kill(Lock.parse(JSON.parse(readFileSync(lock, 'utf8'))).owner.pid, 'SIGTERM')
  } catch (error) {
    // A market that is just ending removes its lock meanwhile.
    if (existsSync(lock)) throw error
  }
}

async function startSharedChain(logFile: string): Promise<Service> {
  const chain = await startAnvil({ chainId: BASE_CHAIN_ID, logFile })
  await placeContracts(chain.url, [])
  return chain
}
