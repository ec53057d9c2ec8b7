import { setTimeout as pause } from 'node:timers/promises'
import type { CrashPoint } from '#shared/crash-point.ts'
import type { CallShape } from '#test/faults/harness/client.ts'
import { createClient } from '#test/faults/harness/client.ts'
import type { Load } from '#test/faults/harness/load.ts'
import { countServed, lasting, STREAM, WHOLE } from '#test/faults/harness/load.ts'
import type { Program } from '#test/faults/harness/process.ts'
import { wasKilled } from '#test/faults/harness/process.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'
import { countOpenHolds } from '#test/faults/harness/verify.ts'
import { until } from '#test/support/run/until.ts'

const RECOVERY_TARGET_MS = 3_000
const CRASH_WITHIN_MS = 60_000
/** Long before any hold expires. */
const GIVEN_BACK_WITHIN_MS = 15_000
const OPEN_STREAMS = 200
/** Seconds of a stream: on a quiet machine, all are open before the first ends. */
const STREAM_SECONDS = 10
const LONG_STREAM_SECONDS = 20
/** Long before such a stream would end by itself. */
const STREAM_MS = (LONG_STREAM_SECONDS * 1_000) / 2

type Crash = { readonly point: CrashPoint; readonly shape: CallShape; readonly passage: number }

const BOTH: readonly CrashPoint[] = [
  'before_reserve',
  'after_reserve',
  'before_dispatch',
  'after_headers',
  'before_C',
  'after_C_write_before_fsync',
  'after_C',
  'before_capture',
  'after_capture',
  'before_queue_add',
  'after_queue_add',
  'before_cursor',
]
/** These places are reached only once a second or once a batch, so the row does not wait for two hundred passages. */
const RARE: ReadonlySet<CrashPoint> = new Set(['after_C', 'before_cursor', 'before_queue_add', 'after_queue_add'])
const EARLY_PASSAGE = 2
const LATE_PASSAGE = 150

const passageOf = (point: CrashPoint): number => (RARE.has(point) ? EARLY_PASSAGE : LATE_PASSAGE)
const whole = (point: CrashPoint): Crash => ({ point, shape: WHOLE, passage: passageOf(point) })
const streamed = (point: CrashPoint): Crash => ({ point, shape: STREAM, passage: passageOf(point) })

const ALL_CRASHES: readonly Crash[] = [
  ...BOTH.map(whole),
  ...BOTH.map(streamed),
  streamed('after_first_content'),
  { point: 'mid_stream', shape: lasting(3), passage: 20 },
]
const FEW_CRASHES: readonly Crash[] = [whole('after_capture'), streamed('before_capture')]

/** Makes node 0 die at each place in turn under load on both nodes. Each start prepares the next death. */
async function crashInTurn(stage: Stage, crashes: readonly Crash[]): Promise<void> {
  const { world } = stage
  const node = world.dataPlanes[0]
  await node.kill()
  let slowest = 0
  for (const { point, shape, passage } of crashes) {
    // The node may die before it is ready, because its take-over reaches some of the places, too.
    await node.start({ environment: { CRASH_AT: `${point}#${passage}` }, mustEnd: true, isHasty: true })
    const clients = shape.maxTokens < 10 ? 32 : 12
    const load = stage.load({ shapes: [shape], clients, nodes: [0, 0, 0, 1] })
    const code = await endOf(node)
    stage.require(wasKilled(code), `${point}#${passage}: ended with ${code}`)
    if (code === -1) await node.kill()
    slowest = Math.max(slowest, await recover(stage, load))
    await load.stop()
    await until('its holds are released', GIVEN_BACK_WITHIN_MS, async () => (await countOpenHolds(world)) === 0)
    await node.kill()
  }
  await node.start()
  stage.figure('deaths', crashes.length)
  stage.target('slowest recovery of the process (ms)', slowest, RECOVERY_TARGET_MS)
}

/** Starts the dead node again. Returns the milliseconds until its first whole answer to a later call. */
async function recover({ world }: Stage, load: Load): Promise<number> {
  const began = performance.now()
  await world.dataPlanes[0].start({ isHasty: true })
  const answers = () =>
    load.seen.flatMap(({ node, isComplete, sentAt, answeredAt }) =>
      node === 0 && isComplete && sentAt > began && answeredAt !== undefined ? [answeredAt] : [],
    )
  while (answers().length === 0 && performance.now() - began < CRASH_WITHIN_MS) await pause(5)
  return Math.min(performance.now(), ...answers()) - began
}

/** The exit code, or -1 when the process lives on for too long. */
export function endOf(program: Program): Promise<number> {
  return Promise.race([program.ended(), pause(CRASH_WITHIN_MS, -1, { ref: false })])
}

/** Begins streams. On a busy machine, the first ones may end before the last one begins. */
async function openStreams(stage: Stage, count: number, seconds: number) {
  const { world } = stage
  await world.untilPaid()
  const client = createClient(world.origin, 'graceful')
  let ended = 0
  const running = Array.from({ length: count }, async (_, index) => {
    const buyer = world.buyers[index % world.buyers.length]
    if (buyer === undefined) throw new Error('there are no buyers')
    const seen = await client.call(0, buyer, lasting(seconds))
    ended += 1
    return seen
  })
  let open = 0
  await until(`${count} streams have begun`, seconds * 1_000, async () => {
    const endedBefore = ended
    open = await openCalls(world.origin(0))
    return open + endedBefore >= count
  })
  stage.require(open > 0, `all ${count} streams ended before the signal`)
  return { running, client }
}

async function openCalls(origin: string): Promise<number> {
  const metrics = await (await fetch(`${origin}/metrics`)).text()
  return Number(/market_open_calls(?:\{.*\})? (\d+)/.exec(metrics)?.[1])
}

async function endGracefully(stage: Stage): Promise<void> {
  const { world } = stage
  const [node] = world.dataPlanes
  const [buyer] = world.buyers
  if (buyer === undefined) return
  const { running, client } = await openStreams(stage, OPEN_STREAMS, STREAM_SECONDS)
  const ending = node.end()
  await pause(300)
  const late = await createClient(world.origin, 'late').call(0, buyer, WHOLE)
  stage.require(!late.isComplete, 'a call was accepted after SIGTERM')
  const seen = await Promise.all(running)
  const code = await ending
  client.close()
  stage.saw(late, ...seen)
  stage.require(countServed(seen) === OPEN_STREAMS, `${countServed(seen)} of ${OPEN_STREAMS} streams ended whole`)
  stage.require(code === 0, `ended with ${code} after SIGTERM`)
  await node.start()
}

async function endTwice(stage: Stage): Promise<void> {
  const [node] = stage.world.dataPlanes
  const { running, client } = await openStreams(stage, OPEN_STREAMS / 4, LONG_STREAM_SECONDS)
  const ending = node.end()
  await pause(200)
  const began = performance.now()
  node.signal('SIGTERM')
  const code = await ending
  const tookMs = performance.now() - began
  stage.saw(...(await Promise.all(running)))
  client.close()
  stage.require(code === 0, `ended with ${code} after the second SIGTERM`)
  stage.require(tookMs < STREAM_MS, 'the second SIGTERM ended nothing')
  stage.target('end after the second SIGTERM (ms)', tookMs, RECOVERY_TARGET_MS)
  await node.start()
}

export const DEATH_ROWS: readonly Row[] = [
  {
    number: 'F01',
    title: 'data plane killed at each crash point, whole and streamed',
    isQuick: true,
    run: (stage) => crashInTurn(stage, stage.isQuick ? FEW_CRASHES : ALL_CRASHES),
  },
  {
    number: 'F43',
    title: `SIGTERM with ${OPEN_STREAMS} open streams, and a second SIGTERM`,
    isQuick: true,
    async run(stage) {
      await endGracefully(stage)
      await endTwice(stage)
    },
  },
]
