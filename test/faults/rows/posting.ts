import { setTimeout as pause } from 'node:timers/promises'
import { parseMoneyEpoch } from '#shared/contract/money-scripts.ts'
import { moneyKeys } from '#shared/contract/redis-keys.ts'
import type { CrashPoint } from '#shared/crash-point.ts'
import type { CallSeen } from '#test/faults/harness/client.ts'
import { countServed } from '#test/faults/harness/load.ts'
import { wasKilled } from '#test/faults/harness/process.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import type { World } from '#test/faults/harness/world.ts'
import { until } from '#test/support/run/until.ts'
import { endOf } from './deaths.ts'

const DOWN_MS = 300_000
const DRAIN_LIMIT_MS = 300_000
const DRAIN_RATE = 800

const WORKER_POINTS: readonly CrashPoint[] = [
  'worker_before_tx',
  'worker_in_tx',
  'worker_after_commit',
  'before_ack',
  'after_ack',
  'sweeper_mid',
  'seed_mid',
]
const FEW_POINTS: readonly CrashPoint[] = ['worker_in_tx', 'worker_after_commit']

/** Makes the worker die at each place in turn under load. Each start prepares the next death. */
async function crashWorker(stage: Stage, points: readonly CrashPoint[]): Promise<void> {
  const { world } = stage
  const [worker] = world.workers
  if (worker === undefined) return
  const load = stage.load({ clients: 4, pauseMs: 20 })
  await load.untilServed(50)
  await worker.kill()
  for (const point of points) {
    const passage = /mid/.test(point) ? 1 : 3
    await worker.start({ environment: { CRASH_AT: `${point}#${passage}` }, mustEnd: true, isHasty: true })
    // The dead worker's leases would expire by themselves in up to a minute.
    await world.sql.query('delete from worker_lease')
    // A healthy gate is not rebuilt.
    if (point === 'seed_mid') await world.money().flushall()
    const code = await endOf(worker)
    stage.require(wasKilled(code), `${point}#${passage}: ended with ${code}`)
    if (code === -1) await worker.kill()
  }
  await worker.start()
  await world.untilPaid()
  await load.untilServed(50)
  stage.figure('deaths', points.length)
  await requireNoFailedJobs(stage)
}

/** Requires that no job failed for good and no event was set aside. */
export async function requireNoFailedJobs({ world, require }: Stage): Promise<void> {
  const failed = await world.money().zcard('bull:usage:failed')
  require(failed === 0, `${failed} jobs failed for good`)
  const { rows } = await world.sql.query<{ why: string }>(
    "select coalesce(string_agg(reason || ' ' || detail || ': ' || left(event, 400), ' | '), '') as why from usage_poison",
  )
  require(rows[0]?.why === '', `events were set aside: ${rows[0]?.why}`)
}

/** Requires that every call was served. A refusal with 503 is allowed only where others load the machine as well. */
export function requireServed(stage: Stage, seen: readonly CallSeen[]): void {
  const failed = seen.filter((call) => !call.isComplete && call.status !== 503)
  stage.require(failed.length === 0, `${failed.length} calls failed: ${failed[0]?.status} ${failed[0]?.text}`)
  const putOff = seen.filter((call) => call.status === 503)
  stage.target('refused with 503', putOff.length, 0)
}

/** Counts the captures that are not posted. */
export async function countUnposted(world: World): Promise<number> {
  const money = world.money()
  const epoch = parseMoneyEpoch(await money.get(moneyKeys.epoch))?.epoch ?? 0
  return money.zcard(moneyKeys.unposted('m00', epoch))
}

/** Counts the batches in the queue, waiting or being posted. */
async function countQueued(world: World): Promise<number> {
  const [waiting, active] = await Promise.all(
    ['wait', 'active'].map((list) => world.money().llen(`bull:usage:${list}`)),
  )
  return (waiting ?? 0) + (active ?? 0)
}

/** Serves calls while no event is posted, then measures the speed at which the backlog is posted. */
async function loseLedger(stage: Stage, downMs: number, pauseMs: number): Promise<void> {
  const { world } = stage
  const load = stage.load({ clients: 16, pauseMs, calls: Number.POSITIVE_INFINITY })
  await load.untilServed(50)
  await world.postgres.kill('SIGQUIT')
  const at = performance.now()
  await pause(downMs)
  const during = load.seen.filter((call) => call.sentAt > at)
  stage.figure('served meanwhile', countServed(during))
  stage.require(countServed(during) > 0, 'no client was served')
  requireServed(stage, during)
  await load.stop()
  await world.postgres.start()
  await measureDrain(stage, DRAIN_RATE)
  await requireNoFailedJobs(stage)
}

/** Measures the speed at which the backlog is posted, in events per second. */
export async function measureDrain(stage: Stage, leastRate?: number): Promise<void> {
  const { world } = stage
  const backlog = await countUnposted(world)
  const upAt = performance.now()
  let firstAt: number | undefined
  await until('the backlog is posted', DRAIN_LIMIT_MS, async () => {
    const left = await countUnposted(world)
    if (left < backlog) firstAt ??= performance.now()
    return left === 0
  })
  const drainMs = performance.now() - (firstAt ?? upAt)
  // Captures that the sweeper has posted also arrive by the queue.
  await until('the queue is empty', DRAIN_LIMIT_MS, async () => (await countQueued(world)) === 0)
  stage.figure('backlog', backlog)
  stage.figure('posted first after (ms)', (firstAt ?? upAt) - upAt)
  stage.figure('drained a second', backlog / (drainMs / 1_000))
  stage.target('drain (ms)', drainMs, leastRate === undefined ? DRAIN_LIMIT_MS : (backlog / leastRate) * 1_000)
}

export const POSTING_ROWS: readonly Row[] = [
  {
    number: 'F20',
    title: 'worker killed at each of its crash points',
    isQuick: true,
    run: (stage) => crashWorker(stage, stage.isQuick ? FEW_POINTS : WORKER_POINTS),
  },
  {
    number: 'F22',
    title: 'Postgres stopped at once under load, and started again after five minutes',
    isQuick: true,
    isLong: true,
    run: (stage) => (stage.isQuick ? loseLedger(stage, 2_000, 0) : loseLedger(stage, DOWN_MS, 150)),
  },
]
