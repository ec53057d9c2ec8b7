import { setTimeout as pause } from 'node:timers/promises'
import { outageMs, refusedMs } from '#test/faults/harness/load.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import { cutLog, startReplica } from '#test/faults/harness/servers.ts'
import { until } from '#test/support/run/until.ts'

const TARGET_MS = 3_000
const LOST_LOG_BYTES = 60_000
const LAG_MS = 2_000
const DEAD_NODE_TARGET_MS = 10_000

/** Kills Redis at random moments of its own, starts it again, and measures the time until paid calls succeed. */
async function killAndRestart(stage: Stage, kills: number): Promise<void> {
  const { world } = stage
  const load = stage.load({ clients: 16 })
  let longest = 0
  for (let kill = 0; kill < kills; kill++) {
    await load.untilServed(60)
    await pause(Math.random() * 200)
    const killedAt = performance.now()
    await world.redis().kill()
    await world.redis().start()
    const upAt = performance.now()
    await load.untilServed(60)
    longest = Math.max(longest, outageMs(load.seen, upAt) ?? Number.POSITIVE_INFINITY)
    stage.figure('outage with the start of the server (ms)', outageMs(load.seen, killedAt) ?? -1)
    stage.figure('told 503 (ms)', refusedMs(load.seen, killedAt))
  }
  stage.target('longest from server up to served (ms)', longest, TARGET_MS)
}

export const REDIS_ROWS: readonly Row[] = [
  {
    number: 'F09a',
    title: 'money Redis killed and restarted under load, every write on disk',
    isQuick: true,
    run: (stage) => killAndRestart(stage, stage.isQuick ? 1 : 4),
  },
  {
    number: 'F09b',
    title: 'money Redis killed and restarted under load, its log a second behind',
    world: { aof: 'everysec' },
    run: (stage) => killAndRestart(stage, 4),
  },
  {
    number: 'F09c',
    title: 'money Redis restarted without the end of its log',
    world: { aof: 'everysec' },
    async run(stage) {
      const { world } = stage
      const load = stage.load({ clients: 16 })
      await load.untilServed(300)
      await world.redis().kill()
      stage.figure('bytes lost', cutLog(world.folder, LOST_LOG_BYTES))
      await world.redis().start()
      const upAt = performance.now()
      await load.untilServed(100)
      stage.figure('from server up to served (ms)', outageMs(load.seen, upAt) ?? -1)
    },
  },
  {
    number: 'F13',
    title: 'failover to a replica that lags two seconds',
    world: { aof: 'everysec' },
    async run(stage) {
      const { world } = stage
      const replica = await startReplica(world.folder, world.redis().url(), LAG_MS)
      const load = stage.load({ clients: 16 })
      await load.untilServed(1_500)
      const at = performance.now()
      await world.redis().kill()
      await replica.promote()
      world.promote(replica.server)
      await load.untilServed(100)
      const outage = outageMs(load.seen, at) ?? Number.POSITIVE_INFINITY
      stage.target('outage (ms)', outage, TARGET_MS)
      await replica.close()
    },
  },
  {
    number: 'F11',
    title: 'money Redis emptied under load',
    isQuick: true,
    async run(stage) {
      const { world } = stage
      const load = stage.load({ clients: 16 })
      await load.untilServed(100)
      // Captures gather here without posting, so that only journals have them after the flush.
      for (const worker of world.workers) worker.signal('SIGSTOP')
      await load.untilServed(30)
      const at = performance.now()
      await world.money().flushall()
      for (const worker of world.workers) worker.signal('SIGCONT')
      await until('the gate is rebuilt', DEAD_NODE_TARGET_MS, async () => {
        const text = await world.money().get('m:epoch')
        return text?.endsWith(':open') ?? false
      })
      await load.untilServed(100)
      const outage = outageMs(load.seen, at + 50) ?? Number.POSITIVE_INFINITY
      stage.target('outage (ms)', outage, TARGET_MS)
      stage.figure('told 503 (ms)', refusedMs(load.seen, at))
    },
  },
]
