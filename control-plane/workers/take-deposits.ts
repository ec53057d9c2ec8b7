import { withMoves } from '#control-plane/services/deposits/move-ctx.ts'
import { reconcile } from '#control-plane/services/deposits/reconcile.ts'
import { takeDeposits } from '#control-plane/services/deposits/take-deposits.ts'
import { watchMoves } from '#control-plane/services/deposits/watch-moves.ts'
import { liftWhenWhole } from '#control-plane/services/treasury/lift-hold.ts'
import { HOUR, MINUTE, SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

/** A deposit is credited within two seconds of its last confirmation. */
const EVERY_MS = SECOND / 2
/** A turn may read many blocks. */
const LEASE_MS = MINUTE
const WATCH_EVERY_MS = 10 * SECOND
const RECONCILE_EVERY_MS = HOUR
/** Blocks are read first. */
const RECONCILE_AFTER_MS = 30 * SECOND

/** Reads arrivals at the treasury, credits deposits, and lets money leave again once the books are whole. */
export function startTakeDeposits(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'take-deposits',
    everyMs: EVERY_MS,
    leaseMs: LEASE_MS,
    run: async () => {
      await takeDeposits(plane)
      await liftWhenWhole(plane)
    },
  })
}

/**
 * Credits money of unknown wallets to wallets that have signed in since, and shows the transfers that wait for a
 * person.
 */
export function startWatchMoves(plane: WorkerPlane): RunningWorker {
  return repeat(plane, { name: 'watch-moves', everyMs: WATCH_EVERY_MS, run: () => watchMoves(plane) })
}

/** Compares the treasury on the chain with the books. */
export function startReconcile(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'reconcile-treasury',
    everyMs: RECONCILE_EVERY_MS,
    firstAfterMs: RECONCILE_AFTER_MS,
    run: async () => {
      const reading = withMoves(plane)
      if (reading !== undefined) await reconcile(reading)
    },
  })
}
