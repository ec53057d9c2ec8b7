import { compareUsageDay, sumUsageDays } from '#control-plane/services/usage/usage-days.ts'
import { MINUTE } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const EVERY_MS = 5 * MINUTE
/** A single turn can sum a backlog of a hundred busy days. */
const LEASE_MS = 15 * MINUTE

/** Sums finished days for buyers and sellers. Each turn also compares one summed day with its calls. */
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
