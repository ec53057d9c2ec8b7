import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '#test/faults/harness/client.ts'
import { countServed, lasting } from '#test/faults/harness/load.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import { countOpenHolds } from '#test/faults/harness/verify.ts'
import type { World } from '#test/faults/harness/world.ts'
import { until } from '#test/support/run/until.ts'
import { requireServed } from './posting.ts'

/** Calls of at most ten seconds have holds of forty, so a row can see the holds expire. */
const SHORT_LIMITS = { totalMs: 10_000 }
const EXPIRED_WITHIN_MS = 120_000
/** A hold of a ten-minute call lasts half a minute longer, so this is longer than any hold. */
const FROZEN_MS = 700_000
const POSTED_WITHIN_MS = 60_000
/** Clocks are compared every ten seconds. */
const ALARM_WITHIN_MS = 30_000
const SKEW_TOLERANCE_MS = 500
const OFFSETS_MS = [3_000, -3_000, 600_000, -600_000, 0, -3_600_000]

function streamSlowly(stage: Stage, seconds: number) {
  const { world } = stage
  const client = createClient(world.origin, 'orphans')
  const running = world.buyers.map((buyer) => client.call(0, buyer, lasting(seconds)))
  return async () => {
    const seen = await Promise.all(running)
    client.close()
    stage.saw(...seen)
    return seen
  }
}

/**
 * A machine is lost with its disk. Holds of its running calls must be released in time, and captured charges must stay.
 */
async function loseJournal(stage: Stage): Promise<void> {
  const { world } = stage
  const [node] = world.dataPlanes
  const load = stage.load({ clients: 8, nodes: [0], calls: 200 })
  await load.done
  const results = streamSlowly(stage, 8)
  await pause(2_500)
  await node.kill()
  const killedAt = performance.now()
  for (const name of foldersOf(world, 'node-0')) rmSync(join(world.journalDir, name), { recursive: true })
  const seen = await results()
  const open = await countOpenHolds(world)
  stage.figure('orphans', open)
  stage.require(open >= seen.length, `${open} holds of ${seen.length} streams are open`)
  await node.start()
  await until('the holds have expired', EXPIRED_WITHIN_MS, async () => (await countOpenHolds(world)) === 0)
  stage.figure('given back after (ms)', performance.now() - killedAt)
  const rids = seen.flatMap(({ rid }) => rid ?? [])
  const { rows } = await world.sql.query('select rid from settlement where rid = any($1) and charge > 0', [rids])
  stage.require(rows.length === 0, `${rows.length} calls of a lost journal were charged`)
}

/** The folders of the journals that a node wrote. */
export function foldersOf({ journalDir }: World, node: string): string[] {
  return readdirSync(journalDir).filter((name) => {
    const lock = join(journalDir, name, 'lock.json')
    try {
      return readFileSync(lock, 'utf8').includes(`"${node}.`)
    } catch {
      return false
    }
  })
}

/** A process sleeps until others have given it up, and wakes up with all its work in memory. */
async function freeze(stage: Stage): Promise<void> {
  const { world } = stage
  const [node] = world.dataPlanes
  const results = streamSlowly(stage, 9)
  await pause(2_500)
  node.signal('SIGSTOP')
  const frozenAt = performance.now()
  await until('the holds have expired', FROZEN_MS, async () => (await countOpenHolds(world)) === 0)
  stage.figure('given back after (ms)', performance.now() - frozenAt)
  await pause(Math.max(0, frozenAt + FROZEN_MS - performance.now()))
  node.signal('SIGCONT')
  const seen = await results()
  stage.figure('streams that arrived whole nevertheless', countServed(seen))
  const rids = seen.flatMap(({ rid }) => rid ?? [])
  await until('the delivered answers are charged late', POSTED_WITHIN_MS, async () => {
    const { rows } = await world.sql.query('select rid from settlement where rid = any($1) and charge > 0', [rids])
    return rows.length === rids.length && rids.length > 0
  })
  await world.untilPaid()
  const load = stage.load({ nodes: [0], calls: 100 })
  await load.done
  stage.require(countServed(load.seen) > 0, 'the node that woke up does not serve')
  const { rows } = await world.sql.query<{ count: string }>(
    'select count(*) from account where balance < 0 and kind = $1',
    ['buyer_credit'],
  )
  stage.require(rows[0]?.count === '0', `${rows[0]?.count} buyers are below zero`)
}

/** The wall clock of the data planes jumps while they serve. */
async function jumpClock(stage: Stage): Promise<void> {
  const { world } = stage
  const load = stage.load({ clients: 8, pauseMs: 10 })
  await load.untilServed(50)
  for (const offsetMs of OFFSETS_MS) {
    world.setControl({ ...NO_LIMITS, offsetMs })
    const at = performance.now()
    await pause(2_500)
    const during = load.seen.filter((call) => call.sentAt > at)
    stage.require(during.length > 0, `no client was served at ${offsetMs} ms`)
    requireServed(stage, during)
  }
  const [longest] = OFFSETS_MS.slice(-1)
  await until('the alarm shows the last jump', ALARM_WITHIN_MS, async () => {
    const skewMs = await clockSkewOf(world)
    stage.figure('clock skew shown (ms)', skewMs)
    return Math.abs(skewMs - (longest ?? 0)) < SKEW_TOLERANCE_MS
  })
  world.setControl(NO_LIMITS)
  await until('the alarm is off', ALARM_WITHIN_MS, async () => Math.abs(await clockSkewOf(world)) < SKEW_TOLERANCE_MS)
  await load.stop()
  const { rows } = await world.sql.query<{ count: string }>(
    'select count(*) from settlement where duration_ms < 0 or overhead_ms < 0 or ttft_ms < 0',
  )
  stage.require(rows[0]?.count === '0', `${rows[0]?.count} calls lasted less than no time`)
  stage.figure('jumps', OFFSETS_MS.length)
}

/** Milliseconds by which a data plane reports that its clock is ahead of Redis'. */
async function clockSkewOf(world: World): Promise<number> {
  const text = await (await fetch(`${world.origin(0)}/metrics`)).text()
  return Number(/^market_clock_skew_ms\{against="redis"\} (\S+)$/m.exec(text)?.[1] ?? Number.NaN)
}

const NO_LIMITS = { limits: {} }

export const CLOCK_ROWS: readonly Row[] = [
  {
    number: 'F03',
    title: 'data plane killed and its journal removed',
    world: { control: { limits: SHORT_LIMITS } },
    run: loseJournal,
  },
  {
    number: 'F04',
    title: 'data plane frozen for 700 s, which no hold outlasts',
    isLong: true,
    run: freeze,
  },
  { number: 'F38', title: 'the clock of the data planes jumps', world: { control: NO_LIMITS }, run: jumpClock },
]
