import { publishFigures, publishSpeeds } from '#control-plane/services/market/market-publish.ts'
import { rollUp } from '#control-plane/services/market/market-rollup.ts'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const EVERY_MS = 15 * SECOND
/** A single turn can process a backlog of a month. */
const LEASE_MS = 5 * MINUTE

/** Updates the market's figures from posted calls. Publishes them when they change or an hour is over. */
export function startRollUpMarkets(plane: WorkerPlane): RunningWorker {
  let publishedHour = 0
  return repeat(plane, {
    name: 'roll-up-markets',
    everyMs: EVERY_MS,
    leaseMs: LEASE_MS,
    run: async () => {
      const { hours, isBehind } = await rollUp(plane)
      if (isBehind) plane.log.info({ hours }, 'the figures of the market are catching up')
      const hour = Math.floor(plane.clock.now() / HOUR)
      if (hours > 0 || hour !== publishedHour) await publishFigures(plane)
      if (hour !== publishedHour) await publishSpeeds(plane)
      publishedHour = hour
    },
  })
}
