import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { isAlive } from '#shared/is-alive.ts'
import { until } from '#test/support/run/until.ts'

const folder = mkdtempSync(join(tmpdir(), 'market-services-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query({ text: sql, rowMode: 'array' })).rows
  } finally {
    await client.end()
  }
}

describe('the embedded services', () => {
  it('PostgreSQL keeps its rows over a restart, in UTF-8, behind a password of the owner alone', async () => {
    const dataDir = join(folder, 'postgres')
    const first = await startPostgres({ dataDir, settings: { fsync: 'off' } })
    await query(first.url, "create table word (text text); insert into word values ('Grüße 🌍')")
    await first.stop()
    expect(isAlive(first.pid)).toBe(false)
    expect(statSync(`${dataDir}.password`).mode & 0o777).toBe(0o600)
    const second = await startPostgres({ dataDir, settings: { fsync: 'off' } })
    expect(await query(second.url, "select text, current_setting('server_encoding') from word")).toEqual([
      ['Grüße 🌍', 'UTF8'],
    ])
    await expect(query(second.url.replace(/:[^:@]+@/, ':wrong@'), 'select 1')).rejects.toThrow(/password/)
    await second.stop()
  })

  it('Redis keeps its keys over a restart', async () => {
    const dataDir = join(folder, 'redis')
    const first = await startRedis({ dataDir })
    const writer = new Redis(first.url)
    expect(await writer.config('GET', 'appendfsync')).toEqual(['appendfsync', 'always'])
    await writer.set('word', 'kept')
    writer.disconnect()
    await first.stop()
    const second = await startRedis({ dataDir })
    const reader = new Redis(second.url)
    expect(await reader.get('word')).toBe('kept')
    reader.disconnect()
    await second.stop()
  })

  it('end with a parent that is killed', async () => {
    const home = mkdtempSync(join(folder, 'killed-'))
    const parent = spawn(process.execPath, ['--import', 'tsx', 'test/dev/fixtures/held-services.ts', home], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(parent.stdout, 'data')
    const pids = z.object({ postgres: z.number(), redis: z.number() }).parse(JSON.parse(String(line)))
    expect(isAlive(pids.postgres) && isAlive(pids.redis)).toBe(true)
    parent.kill('SIGKILL')
    await until('both have ended', 10_000, () => !isAlive(pids.postgres) && !isAlive(pids.redis))
  })
})
