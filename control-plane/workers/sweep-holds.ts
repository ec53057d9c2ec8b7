import { finishDebits } from '#control-plane/services/money/ledger-debits.ts'
import { watchBalances, watchCounters } from '#control-plane/services/money/money-compare.ts'
import { runInvariants } from '#control-plane/services/money/money-watch.ts'
import { finishJobs } from '#control-plane/services/money/overdue-jobs.ts'
import { sweepHolds } from '#control-plane/services/money/sweep.ts'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const BALANCES_EVERY_MS = 10 * MINUTE
const COUNTERS_EVERY_MS = HOUR
/** After a start, journals are replayed and the gate may be rebuilt; and what is wrong but for a moment is not wrong. */
const FIRST_CHECK_AFTER_MS = 2 * MINUTE
const CONFIRM_AFTER_MS = 20 * SECOND
/** A sweep after an outage takes longer than the pause between two, and providers of jobs may take their time. */
const SWEEP_LEASE_MS = 10 * SECOND
/** A start may find a gate that has to be rebuilt before anything can be asked of it; what opens one sweeps as well. */
const GATE_REBUILD_MS = 1 * SECOND
const JOBS_LEASE_MS = 30 * SECOND

/**
 * Finishes what dead processes left: holds, captures, debits. One process does, every few seconds. A capture whose
 * event the queue may still bring is left to the queue; while the queue is empty there is nothing to wait for.
 */
export function startSweepHolds(plane: WorkerPlane): RunningWorker {
  const { sweepEveryMs, unpostedAfterMs, unpostedWhenQuietMs } = plane.moneyTimes
  return repeat(plane, {
    name: 'sweep-holds',
    everyMs: sweepEveryMs,
    firstAfterMs: Math.min(sweepEveryMs, GATE_REBUILD_MS),
    leaseMs: SWEEP_LEASE_MS,
    run: async () => {
      const isQuiet = (await plane.usageQueue.depth()) === 0
      const { expired, posted, told } = await sweepHolds(plane, isQuiet ? unpostedWhenQuietMs : unpostedAfterMs)
      plane.metrics.swept('expired', expired)
      plane.metrics.swept('posted', posted)
      plane.metrics.swept('told', told)
      plane.metrics.swept('debits', await finishDebits(plane))
    },
  })
}

/** Ends jobs past their deadline. Their providers are waited for, so nothing else is. */
export function startFinishJobs(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'finish-jobs',
    everyMs: plane.moneyTimes.sweepEveryMs,
    leaseMs: JOBS_LEASE_MS,
    run: async () => {
      plane.metrics.swept('jobs', await finishJobs(plane))
    },
  })
}

/** Compares the gate's balances and versions with the ledger's; a difference wants a person. */
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

/** Compares what the gate holds and has unposted with its calls. */
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

/** Runs the checker of the ledger by the clock. */
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
