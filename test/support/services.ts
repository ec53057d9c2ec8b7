import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the run's own PostgreSQL and its empty database `market`. Each test file makes a database of its own. */
    postgresUrl: string
    /** URL of the run's own Redis. Each test file uses its own key prefixes or database number. */
    redisUrl: string
  }
}

/** Starts one real PostgreSQL and one real Redis for the whole run, in a folder that is removed at its end. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = mkdtempSync(join(tmpdir(), 'market-test-'))
  // Nothing here outlives the run, so nothing has to survive a power cut.
  const settings = { fsync: 'off', full_page_writes: 'off', max_connections: '300' }
  const [postgres, redis] = await Promise.all([
    startPostgres({ dataDir: join(folder, 'postgres'), settings }),
    startRedis({ dataDir: join(folder, 'redis'), extraConfig: { databases: '256', appendfsync: 'everysec' } }),
  ])
  project.provide('postgresUrl', postgres.url)
  project.provide('redisUrl', redis.url)
  return async () => {
    await Promise.all([postgres.stop(), redis.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}
