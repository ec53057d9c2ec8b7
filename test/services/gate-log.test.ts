import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Service } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { systemClock } from '#shared/clock.ts'
import { encodeAck } from '#shared/contract/money-scripts/ack.ts'
import type { ScriptBatch } from '#shared/contract/money-scripts/batch.ts'
import type { ReserveOperation } from '#shared/contract/money-scripts/reserve.ts'
import { encodeReserve } from '#shared/contract/money-scripts/reserve.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import type { MoneyScript } from '#shared/contract/money-scripts.ts'
import { moneyScripts, readHold } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { createIds } from '#shared/ids.ts'
import { microUsd } from '#shared/money.ts'
import { until } from '#test/support/run/until.ts'

const ids = createIds(systemClock)
const place = { bucket: 'm00', epoch: 1 }
const scripts = moneyScripts(place.epoch)
const account = ids.make('acc')
const SYNC_MS = 10_000

let folder: string
let server: Service
let redis: Redis

async function start(): Promise<void> {
  server = await startRedis({ dataDir: join(folder, 'redis') })
  redis = new Redis(server.url)
}

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gate-log-'))
  await start()
  for (const script of Object.values(scripts)) await redis.script('LOAD', script.text)
  await redis.set(moneyKeys.filled(place.bucket), place.epoch)
  const balance = { account, balanceMicro: microUsd(1_000), version: 1n, rid: null, postedAt: null }
  await run(scripts.ack, encodeAck(place, [balance]))
})
afterEach(async () => {
  redis.disconnect()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

async function run({ sha }: MoneyScript, { keys, args }: ScriptBatch): Promise<unknown> {
  return redis.evalsha(sha, keys.length, ...keys, ...args)
}

async function reserve(caps: Pick<ReserveOperation, 'keyId' | 'dailyCapMicro'>): Promise<string> {
  const rid = ids.requestId()
  const amounts = { wantMicro: microUsd(100), minMicro: microUsd(100), monthlyCapMicro: null }
  const operation = { rid, account, node: 'n1.boot', ttlMs: 60_000, ...amounts, ...caps }
  expect(await run(scripts.reserve, encodeReserve(place, [operation]))).toEqual(['G:100'])
  return rid
}

/** The number of bytes that Redis has written to its log since its start. */
async function logBytes(): Promise<number> {
  return Number(/aof_current_size:(\d+)/.exec(await redis.info('persistence'))?.[1])
}

async function holdOf(rid: string) {
  return readHold(await redis.hgetall(moneyKeys.hold(place.bucket, rid)))
}

/** Kills the server and starts another from its log. */
async function startFromLog(): Promise<void> {
  process.kill(server.pid, 'SIGKILL')
  await server.exited
  redis.disconnect()
  await start()
}

describe('the log of the gate', () => {
  it('has no bytes of a reserve, but the whole record of a capture and of a release', async () => {
    const keyId = ids.make('key')
    const before = await logBytes()
    const open = await reserve({ keyId: null, dailyCapMicro: null })
    const captured = await reserve({ keyId, dailyCapMicro: null })
    const capped = await reserve({ keyId, dailyCapMicro: microUsd(500) })
    const released = await reserve({ keyId, dailyCapMicro: microUsd(500) })
    expect(await logBytes()).toBe(before)

    const subject = { account, keyId, node: 'n1.boot' }
    const capture = {
      kind: 'capture',
      usedMicro: microUsd(40),
      event: '{"v":1}',
      capturedAt: null,
      ...subject,
    } as const
    const release = { kind: 'release', reason: 'upstream_error', event: '{"v":1}', ...subject } as const
    const ends = [
      { rid: captured, ...capture },
      { rid: capped, ...capture },
      { rid: released, ...release },
    ]
    expect(await run(scripts.settle, encodeSettle(place, ends))).toEqual(['K', 'K', 'K'])
    expect(await logBytes()).toBeGreaterThan(before)
    const records = await Promise.all([captured, capped, released].map(holdOf))
    expect(records.map((record) => record?.state)).toEqual(['captured', 'captured', 'released'])

    await startFromLog()
    expect(await holdOf(open)).toBeUndefined()
    expect(await Promise.all([captured, capped, released].map(holdOf))).toEqual(records)
    const unposted = await redis.zrange(moneyKeys.unposted(place.bucket, place.epoch), 0, -1)
    expect(new Set(unposted)).toEqual(new Set([captured, capped]))
  })

  it('does not bring the scripts back, so a server that starts from the log grants nothing', async () => {
    await reserve({ keyId: null, dailyCapMicro: null })
    await startFromLog()
    await expect(reserve({ keyId: null, dailyCapMicro: null })).rejects.toThrow(/NOSCRIPT/)
  })

  it('passes every hold on to a replica', async () => {
    const replica = await startRedis({ dataDir: join(folder, 'replica'), appendOnly: false })
    const reader = new Redis(replica.url)
    try {
      await redis.config('SET', 'repl-diskless-sync-delay', '0')
      await reader.replicaof('127.0.0.1', new URL(server.url).port)
      await until('the replica is in step', SYNC_MS, async () =>
        /master_link_status:up/.test(await reader.info('replication')),
      )
      const rid = await reserve({ keyId: null, dailyCapMicro: null })
      const isOpen = async () => (await reader.hget(moneyKeys.hold(place.bucket, rid), 'st')) === 'open'
      await until('the replica has the hold', SYNC_MS, isOpen)
    } finally {
      reader.disconnect()
      await replica.stop()
    }
  })
})
