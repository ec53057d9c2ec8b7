import { archiveMonths, keepPartitions } from '#control-plane/services/retention/partitions.ts'
import { HOUR } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const EVERY_MS = 6 * HOUR

/** Creates the partitions of the coming months, and detaches those past their retention. */
export function startMonthPartitions(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'month-partitions',
    everyMs: EVERY_MS,
    run: async () => {
      const partitions = await keepPartitions(plane)
      if (partitions.length > 0) plane.log.info({ partitions }, 'partitions were made')
      const archived = await archiveMonths(plane, plane.moneyTimes.retentionMonths)
      if (archived.length > 0) plane.log.info({ months: archived }, 'months were detached')
    },
  })
}
