import { setTimeout as pause } from 'node:timers/promises'
import { moneyScripts, parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import type { CallSeen } from '#test/faults/harness/client.ts'
import { createClient } from '#test/faults/harness/client.ts'
import { countServed, lasting, STREAM, WHOLE } from '#test/faults/harness/load.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { World } from '#test/faults/harness/world.ts'
import { until } from '#test/support/run/until.ts'

const REFUSED_WITHIN_MS = 300
const OPEN_STREAMS = 20
const AWAY_MS = 300_000
const READS = ['/v1/models', '/v1/providers', '/api/markets', '/v1/prices', '/health/ready']
/** Milliseconds within which a script of each kind must run under load. */
const REPLY_WITHIN_MS = 10_000
/** Milliseconds that a request to a free path may take while paid calls are stuck. */
const FREE_LOOP_MS = 500

/** Redis is away. Running calls must end, new ones must be refused at once, and free paths must be served. */
async function loseRedis(stage: Stage, downMs: number): Promise<void> {
  const { world } = stage
  const client = createClient(world.origin, 'away')
  const running = world.buyers.flatMap((buyer) =>
    Array.from({ length: OPEN_STREAMS / world.buyers.length }, (_, index) => client.call(index % 2, buyer, lasting(5))),
  )
  await pause(1_500)
  await world.redis().kill()
  const load = stage.load({ clients: 4, pauseMs: 250 })
  const wrong = new Set<string>()
  const until = performance.now() + downMs
  while (performance.now() < until) {
    for (const path of READS) {
      const answer = await fetch(world.origin(0) + path)
      await answer.arrayBuffer()
      if (answer.status !== 200) wrong.add(`${path} answers ${answer.status}`)
    }
    await pause(100)
  }
  const streams = await Promise.all(running)
  client.close()
  stage.saw(...streams)
  stage.require(
    countServed(streams) === streams.length,
    `${countServed(streams)} of ${streams.length} streams ended whole`,
  )
  requireRefusals(stage, await load.stop())
  stage.require(wrong.size === 0, [...wrong].join(', '))
}

function requireRefusals(stage: Stage, seen: readonly CallSeen[]): void {
  const others = seen.filter(({ status, retryAfter }) => status !== 503 || retryAfter === undefined)
  stage.require(others.length === 0, `${others.length} new calls saw ${others[0]?.status}, not 503 with Retry-After`)
  const took = seen.map(({ sentAt, endedAt }) => endedAt - sentAt).sort((left, right) => left - right)
  const p99 = took[Math.floor(took.length * 0.99)] ?? 0
  stage.figure('refused', seen.length)
  stage.target('refused within, p99 (ms)', p99, REFUSED_WITHIN_MS)
}

/**
 * Redis answers late, then not at all for a while, again and again. Requests must not pile up, and the event loop must
 * stay free.
 */
async function slowRedis(stage: Stage): Promise<void> {
  const { world } = stage
  const load = stage.load({ clients: 64 })
  const memory = memoryOf(world)
  await load.untilServed(100)
  for (const name of ['redis0', 'redis1'] as const) world.relays[name].fault({ delayMs: 100 })
  const slowAt = performance.now()
  await pause(6_000)
  const slow = load.seen.filter((call) => call.sentAt > slowAt)
  stage.figure('served a second at 200 ms a command', countServed(slow) / 6)
  stage.require(
    countServed(slow) > slow.length * 0.95,
    `${slow.length - countServed(slow)} of ${slow.length} calls failed`,
  )
  for (const name of ['redis0', 'redis1'] as const) world.relays[name].pass()
  let slowest = 0
  for (let round = 0; round < 3; round++) {
    void world
      .money()
      .call('CLIENT', 'PAUSE', '2000', 'ALL')
      .catch(() => undefined)
    const end = performance.now() + 2_500
    while (performance.now() < end) {
      const began = performance.now()
      await (await fetch(`${world.origin(round % 2)}/v1/models`)).arrayBuffer()
      slowest = Math.max(slowest, performance.now() - began)
      await pause(20)
    }
  }
  await load.untilServed(100)
  const grown = memoryOf(world) - memory
  stage.target('slowest free answer meanwhile (ms)', slowest, FREE_LOOP_MS)
  stage.figure('grown by (MB)', grown / 1_048_576)
}

function memoryOf(world: World): number {
  return world.dataPlanes.reduce((sum, program) => sum + program.memoryBytes(), 0)
}

/** The server executes a command and its reply is lost. The repeated command must not count twice. */
async function loseReplies(stage: Stage, times: number): Promise<void> {
  const { world } = stage
  const load = stage.load({ clients: 8, shapes: [WHOLE, STREAM] })
  await load.untilServed(50)
  const { redis0, redis1, redisWorker } = world.relays
  const allCuts = () => Object.values(world.relays).reduce((sum, relay) => sum + relay.cuts(), 0)
  const before = allCuts()
  for (let time = 0; time < times; time++) {
    const epoch = parseMoneyEpoch(await world.money().get('m:epoch'))?.epoch ?? 0
    const { reserve, settle, ack } = moneyScripts(epoch)
    for (const [relay, script] of [
      [redis0, reserve],
      [redis1, settle],
      [redisWorker, ack],
    ] as const) {
      const cut = relay.cuts()
      relay.cutReplyTo(script.sha)
      await until('a reply is lost', REPLY_WITHIN_MS, () => relay.cuts() > cut)
      await load.untilServed(30)
    }
  }
  const cuts = allCuts() - before
  stage.figure('replies lost', cuts)
  stage.require(cuts === 3 * times, `${cuts} of ${3 * times} replies were lost`)
}

export const REDIS_WIRE_ROWS: readonly Row[] = [
  {
    number: 'F14',
    title: 'money Redis away for five minutes while streams run',
    isLong: true,
    run: (stage) => loseRedis(stage, AWAY_MS),
  },
  {
    number: 'F15',
    title: 'money Redis slow by 200 ms a command, then stopped for 2 s three times',
    run: slowRedis,
  },
  {
    number: 'F17',
    title: 'replies of reserve, capture and ack lost',
    isQuick: true,
    run: (stage) => loseReplies(stage, stage.isQuick ? 2 : 15),
  },
]
