import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { PostedChange } from '#control-plane/ports/gate/gate.ts'
import { createRedisGate } from '#control-plane/ports/gate/redis-gate.ts'
import { openJournal } from '#data-plane/journal/journal.ts'
import { openFunds } from '#data-plane/store/funds.ts'
import { connectMoney } from '#data-plane/store/money-connection.ts'
import { startRedis } from '#dev/services/redis.ts'
import { systemClock } from '#shared/clock.ts'
import { moneyScripts } from '#shared/contract/money-scripts.ts'
import { CREDIT_RAIL } from '#shared/contract/rails.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import { createIds } from '#shared/ids.ts'
import { createLogger } from '#shared/logger.ts'
import { microUsd } from '#shared/money.ts'
import { until } from '#test/support/run/until.ts'

/**
 * Measures triples of reserve, capture and acknowledgement per second, through the real stores and a Redis that syncs
 * every answer to its disk first. `--calls`, `--at-once`, `--accounts` and `--no-journal` change the load.
 */
const argument = (name: string, fallback: number) => {
  const at = process.argv.indexOf(`--${name}`)
  return at === -1 ? fallback : Number(process.argv[at + 1])
}
const CALLS = argument('calls', 40_000)
const AT_ONCE = argument('at-once', 256)
const ACCOUNTS = argument('accounts', 100)
const EVENT_BYTES = 1_500
const ACK_BATCH = 128

const folder = await mkdtemp(join(tmpdir(), 'gate-bench-'))
const server = await startRedis({ dataDir: join(folder, 'redis') })
const log = createLogger('bench', 'error')
const ids = createIds(systemClock)
const redis = new Redis(server.url)
for (const script of Object.values(moneyScripts(1))) await redis.script('LOAD', script.text)
await redis.set(moneyKeys.filled('m00'), 1)
await redis.set(moneyKeys.epoch, '1:open')

const gate = createRedisGate({ redis, buckets: 1 })
const journal = await openJournal({
  dir: join(folder, 'journal'),
  node: 'bench',
  boot: ids.ulid(),
  clock: systemClock,
  log,
})
await redis.hset(moneyKeys.members, journal.member, '1')
const funds = openFunds({
  connect: (listeners) => connectMoney({ url: server.url, clock: systemClock, log }, listeners),
  buckets: 1,
  clock: systemClock,
  log,
  journal: journal.replay(CREDIT_RAIL),
})
await until('the gate is open', 5_000, () => funds.isOpen())

const accounts = Array.from({ length: ACCOUNTS }, () => ids.make('acc'))
const keys = accounts.map(() => ids.make('key'))
await gate.seed(accounts.map((account) => ({ account, balanceMicro: microUsd(10_000_000_000), version: 1n })))

const filler = 'x'.repeat(EVENT_BYTES)
const posted: PostedChange[] = []
const acks: Promise<unknown>[] = []
let started = 0
const reserveMs: number[] = []
const captureMs: number[] = []

async function buyer(): Promise<void> {
  for (;;) {
    const index = started++
    if (index >= CALLS) return
    const account = accounts[index % ACCOUNTS] ?? ids.make('acc')
    const keyId = keys[index % ACCOUNTS] ?? null
    const rid = ids.requestId()
    const begun = performance.now()
    const hold = await funds.reserve({
      rid,
      account,
      keyId,
      wantMicro: microUsd(500),
      minMicro: microUsd(100),
      ttlMs: 60_000,
      caps: { dailyMicro: null, monthlyMicro: null },
    })
    const granted = performance.now()
    reserveMs.push(granted - begun)
    const event = `{"v":1,"rid":"${rid}","account":"${account}","rail":"credit","filler":"${filler}"}`
    journal.capture({ rid, account, rail: CREDIT_RAIL }, event)
    await funds.capture(hold, microUsd(120), event)
    captureMs.push(performance.now() - granted)
    posted.push({ account, balanceMicro: microUsd(10_000_000_000), version: 1n, rid, postedAt: 1 })
    if (posted.length >= ACK_BATCH) acks.push(gate.ack(posted.splice(0)))
  }
}

const cpuBefore = process.cpuUsage()
const begun = performance.now()
await Promise.all(Array.from({ length: AT_ONCE }, buyer))
acks.push(gate.ack(posted.splice(0)))
await Promise.all(acks)
const seconds = (performance.now() - begun) / 1000
const cpu = process.cpuUsage(cpuBefore)

const percentile = (values: number[], part: number) =>
  (values.sort((left, right) => left - right)[Math.floor(values.length * part)] ?? 0).toFixed(2)
console.log(`${Math.round(CALLS / seconds)} triples/s (${CALLS} calls, ${AT_ONCE} at once, ${ACCOUNTS} accounts)`)
console.log(`reserve p50 ${percentile(reserveMs, 0.5)} ms, p99 ${percentile(reserveMs, 0.99)} ms`)
console.log(`capture p50 ${percentile(captureMs, 0.5)} ms, p99 ${percentile(captureMs, 0.99)} ms`)
console.log(
  `this process: ${((cpu.user + cpu.system) / CALLS).toFixed(1)} µs CPU a call, ${journal.unpostedCount()} captures above the cursor`,
)

await funds.leave(0)
await journal.close()
redis.disconnect()
await server.stop()
await rm(folder, { recursive: true, force: true })
