import { startMonthPartitions } from './month-partitions.ts'
import { startPostUsage } from './post-usage.ts'
import { startCompareBalances, startSweepHolds } from './sweep-holds.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'

/** Every worker of the control plane. */
const STARTERS: readonly ((plane: WorkerPlane) => RunningWorker)[] = [
  startPostUsage,
  startSweepHolds,
  startCompareBalances,
  startMonthPartitions,
]

/** Starts all workers of this process; `stop` ends them together and waits for what they have in hand. */
export function startWorkers(plane: WorkerPlane): { stop(): Promise<void> } {
  const running = STARTERS.map((start) => start(plane))
  return {
    stop: async () => {
      await Promise.all(running.map((worker) => worker.stop()))
    },
  }
}
