import { sweepHolds } from '#control-plane/services/booking/sweep.ts'
import { watchBalances, watchCounters } from '#control-plane/services/booking/watch-balances.ts'
import { runInvariants } from '#control-plane/services/gate/money-watch.ts'
import { finishDebits } from '#control-plane/services/ledger/ledger-debits.ts'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const BALANCES_EVERY_MS = 10 * MINUTE
const COUNTERS_EVERY_MS = HOUR
/**
 * After a start journals are replayed and the gate may be rebuilt, so the first check waits. A breach counts only if it
 * persists after a pause.
 */
const FIRST_CHECK_AFTER_MS = 2 * MINUTE
const CONFIRM_AFTER_MS = 20 * SECOND
/** A sweep after an outage lasts longer than the pause between two, and providers of jobs may be slow. */
const SWEEP_LEASE_MS = 10 * SECOND
/** After a start the gate may need a rebuild before it can answer. The rebuild also sweeps. */
const GATE_REBUILD_MS = 1 * SECOND

/**
 * Finishes the holds, captures and debits that dead processes left. One process does this every few seconds. While the
 * queue has work, recent captures are left to the queue. While it is empty, a shorter wait applies.
 */
export function startSweepHolds(plane: WorkerPlane): RunningWorker {
  const { sweepEveryMs, unpostedAfterMs, unpostedWhenQuietMs } = plane.moneyTimes
  return repeat(plane, {
    name: 'sweep-holds',
    everyMs: sweepEveryMs,
    firstAfterMs: Math.min(sweepEveryMs, GATE_REBUILD_MS),
    leaseMs: SWEEP_LEASE_MS,
    run: async (ending) => {
      const isQuiet = (await plane.usageQueue.depth()) === 0
      const afterMs = isQuiet ? unpostedWhenQuietMs : unpostedAfterMs
      const { expired, posted, announced } = await sweepHolds(plane, afterMs, ending)
      plane.metrics.swept('expired', expired)
      plane.metrics.swept('posted', posted)
      plane.metrics.swept('told', announced)
      plane.metrics.swept('debits', await finishDebits(plane))
    },
  })
}

/** Compares the gate's balances and versions with the ledger's. A person looks into each difference. */
export function startCompareBalances(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'compare-balances',
    everyMs: BALANCES_EVERY_MS,
    firstAfterMs: GATE_REBUILD_MS,
    run: async () => {
      await watchBalances(plane)
    },
  })
}

/** Compares the held and unposted amounts of the gate with its calls. */
export function startCompareCounters(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'compare-counters',
    everyMs: COUNTERS_EVERY_MS,
    firstAfterMs: GATE_REBUILD_MS,
    run: async () => {
      await watchCounters(plane)
    },
  })
}

/** Runs the checker of the ledger at an interval. */
export function startCheckMoney(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'check-money',
    everyMs: plane.moneyTimes.checkEveryMs,
    firstAfterMs: Math.min(plane.moneyTimes.checkEveryMs, FIRST_CHECK_AFTER_MS),
    run: async () => {
      await runInvariants(plane, CONFIRM_AFTER_MS)
    },
  })
}
