import { compareUsageDay, sumUsageDays } from '#control-plane/services/usage-days.ts'
import { MINUTE } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const EVERY_MS = 5 * MINUTE
/** A backlog of a hundred busy days is summed in one turn. */
const LEASE_MS = 15 * MINUTE

/** Sums the days that are over for buyers and sellers, and compares one of them with its calls at each turn. */
export function startSumUsageDays(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'sum-usage-days',
    everyMs: EVERY_MS,
    leaseMs: LEASE_MS,
    run: async () => {
      const days = await sumUsageDays(plane)
      if (days > 0) plane.log.info({ days }, 'days of usage were summed')
      await compareUsageDay(plane)
    },
  })
}
