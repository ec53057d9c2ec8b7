import { MINUTE, SECOND } from '#shared/clock.ts'
import { compareBalances, sweepHolds } from '../services/sweep.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const SWEEP_EVERY_MS = 30 * SECOND
const COMPARE_EVERY_MS = 10 * MINUTE

/** Finishes abandoned holds and captures every half minute, in one process. */
export function startSweepHolds(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'sweep-holds',
    everyMs: SWEEP_EVERY_MS,
    run: async () => {
      await sweepHolds(plane)
    },
  })
}

/** Compares the gate's balances with the ledger's every ten minutes; a difference wants a person. */
export function startCompareBalances(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'compare-balances',
    everyMs: COMPARE_EVERY_MS,
    run: async () => {
      const different = await compareBalances(plane)
      if (different.length > 0) plane.log.error({ accounts: different }, 'the gate and the ledger differ')
    },
  })
}
