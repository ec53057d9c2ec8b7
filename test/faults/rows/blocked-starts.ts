import { countServed } from '#test/faults/harness/load.ts'
import type { Row, Stage } from '#test/faults/harness/row.ts'

const PRELOAD = new URL('../../dev/fixtures/blocked-start.mjs', import.meta.url).href
/** Longer than all blocks of a start together. */
const HEALED_MS = 90_000
/** Moments of a start: right after the opening of a connection, and milliseconds after the process began. */
const CONNECTIONS = Array.from({ length: 12 }, (_, at) => `c${at + 1}`)
const TIMES = [0, 100, 200, 400, 800, 1_600, 3_200].map((ms) => `t${ms}`)
const FEW = ['c1', 'c3', 't400']
const LENGTHS_MS = [2_500, 10_000]

/** Starts each program repeatedly, with its event loop blocked at another moment each time, and calls through it. */
async function blockStarts(stage: Stage): Promise<void> {
  const { world, isQuick } = stage
  const moments = isQuick ? FEW : [...CONNECTIONS, ...TIMES]
  let slowest = 0
  for (const program of [...world.dataPlanes, world.control, ...world.workers]) {
    for (const moment of moments) {
      for (const length of isQuick ? LENGTHS_MS.slice(0, 1) : LENGTHS_MS) {
        await program.kill()
        const environment = { NODE_OPTIONS: `--import ${PRELOAD}`, BLOCKED_START: `${moment}/${length}` }
        const began = performance.now()
        await program.start({ environment, isHasty: true })
        await program.untilReady(HEALED_MS)
        const load = stage.load({ clients: 4 })
        await load.untilServed(10, HEALED_MS)
        await load.stop()
        stage.require(countServed(load.seen) > 0, `${program.name}: no call was served after ${moment}/${length}`)
        slowest = Math.max(slowest, performance.now() - began)
      }
    }
    await program.kill()
    await program.start()
  }
  stage.figure('slowest start until calls are served (ms)', slowest)
}

export const BLOCKED_START_ROWS: readonly Row[] = [
  { number: 'N08', title: 'the loop of a process is blocked at any moment of its start', world: {}, run: blockStarts },
]
