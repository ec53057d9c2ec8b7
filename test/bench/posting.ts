import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { openAccount } from '#control-plane/db/accounts.ts'
import type { Database } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { createMoneyLedger, moneyTransaction } from '#control-plane/db/money-ledger.ts'
import { createRedisGate } from '#control-plane/ports/redis-gate.ts'
import { openRedisGateKeeper } from '#control-plane/ports/redis-gate-keeper.ts'
import type { IngestCtx } from '#control-plane/services/ingest.ts'
import { postBatch } from '#control-plane/services/ingest.ts'
import { postTransaction } from '#control-plane/services/ledger.ts'
import { startRebuildGate } from '#control-plane/workers/rebuild-gate.ts'
import { startPostgres } from '#dev/services/postgres.ts'
import { startRedis } from '#dev/services/redis.ts'
import { systemClock } from '#shared/clock.ts'
import type { SettleOperation } from '#shared/contract/money-scripts/settle.ts'
import { encodeSettle } from '#shared/contract/money-scripts/settle.ts'
import { moneyScripts, parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { AccountId } from '#shared/ids.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { microUsd } from '#shared/money.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/until.ts'
import { eventText } from '#test/support/usage-events.ts'

const EVENTS = 30_000
const WARM_UP_EVENTS = 3_000
/** What 15 ms of 4,000 calls a second come to. */
const BATCH = 60
const POSTERS = 2
const BUYERS = 50
const SELLERS = 10

/**
 * Events a second that two posters of one process book and acknowledge, on a PostgreSQL with its durability on and a
 * Redis that writes every answer to its disk first. The calls were captured before.
 */
export async function measurePosting(): Promise<{ what: string; figure: string; beside: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'market-posting-'))
  const [postgres, server] = await Promise.all([
    startPostgres({ dataDir: join(folder, 'postgres') }),
    startRedis({ dataDir: join(folder, 'redis') }),
  ])
  const log = createLogger('bench', 'error')
  const redis = new Redis(server.url)
  const { keeper, close } = openRedisGateKeeper({ url: server.url, buckets: 1, log })
  const { db, drop } = await createTestDatabase(postgres.url)
  const gate = createRedisGate({ redis, buckets: 1 })
  const ledger = createMoneyLedger(db)
  const stopRebuilder = startRebuildGate({ ledger, keeper, gate, clock: systemClock, log })
  try {
    await fund(db)
    await until('the gate is open', 10_000, async () => (await redis.get(moneyKeys.epoch))?.endsWith(':open') ?? false)
    const ctx: IngestCtx = { ledger, gate, clock: systemClock, log }
    await postAll(ctx, await captureAll(redis, WARM_UP_EVENTS))
    const perSecond = await postAll(ctx, await captureAll(redis, EVENTS))
    return {
      what: 'posting of usage events',
      figure: `${perSecond.toFixed(0)} events/s`,
      beside: `${POSTERS} posters, batches of ${BATCH}, acknowledged to the gate`,
    }
  } finally {
    await stopRebuilder()
    close()
    redis.disconnect()
    await drop()
    await Promise.all([postgres.stop(), server.stop()])
    rmSync(folder, { recursive: true, force: true })
  }
}

const buyer = (index: number): AccountId => `acc_buyer${index % BUYERS}`
const seller = (index: number): AccountId => `acc_seller${index % SELLERS}`

async function fund(db: Database): Promise<void> {
  const ids = createIds(systemClock)
  await transact(db, async (trx) => {
    for (let index = 0; index < SELLERS; index++) {
      await openAccount(trx, { id: seller(index), kind: 'seller_available', owner: 'usr_seller' })
    }
    for (let index = 0; index < BUYERS; index++) {
      const account = buyer(index)
      await openAccount(trx, { id: account, kind: 'buyer_credit', owner: 'usr_buyer' })
      const amount = 1_000_000_000n
      const entries = [
        { account, amount },
        { account: 'acc_promo', amount: -amount },
      ] as const
      await postTransaction(moneyTransaction(trx), { id: ids.ulid(), key: `grant:${index}`, kind: 'grant', entries })
    }
  })
}

/** Captures calls in the gate, as the data plane would, and answers their events in batches. */
async function captureAll(redis: Redis, count: number): Promise<string[][]> {
  const epoch = parseMoneyEpoch(await redis.get(moneyKeys.epoch))?.epoch ?? 1
  const { sha } = moneyScripts(epoch).settle
  const ids = createIds(systemClock)
  const batches: string[][] = []
  for (let start = 0; start < count; start += BATCH) {
    const operations = Array.from({ length: Math.min(BATCH, count - start) }, (_, offset): SettleOperation => {
      const index = start + offset
      const [rid, account, charge] = [ids.requestId(), buyer(index * 7), 500 + (index % 900)]
      const event = eventText({ rid, account, sellerAccount: seller(index), charge })
      const subject = { rid, account, keyId: null, node: 'bench' }
      return { kind: 'capture', ...subject, usedMicro: microUsd(charge), event, capturedAt: null }
    })
    const { keys, args } = encodeSettle({ bucket: 'm00', epoch }, operations)
    await redis.evalsha(sha, keys.length, ...keys, ...args)
    batches.push(operations.map((operation) => (operation.kind === 'capture' ? operation.event : '')))
  }
  return batches
}

async function postAll(ctx: IngestCtx, batches: string[][]): Promise<number> {
  const count = batches.reduce((sum, batch) => sum + batch.length, 0)
  const startedAt = performance.now()
  await Promise.all(
    Array.from({ length: POSTERS }, async () => {
      for (let events = batches.shift(); events !== undefined; events = batches.shift()) {
        const { posted } = await postBatch(ctx, { events, source: 'bench' })
        if (posted !== events.length) throw new Error(`posted ${posted} of ${events.length}`)
      }
    }),
  )
  return (count * 1_000) / (performance.now() - startedAt)
}
