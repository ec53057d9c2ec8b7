import { moveTransfers } from '#control-plane/services/payouts/move-transfers.ts'
import { watchTreasury } from '#control-plane/services/payouts/watch-treasury.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const EVERY_MS = SECOND
/** A turn signs and books a thousand transfers and waits for the chain. */
const LEASE_MS = 2 * MINUTE
const WATCH_EVERY_MS = 30 * SECOND

/** Finishes payouts, and sweeps of the treasury. */
export function startMoveTransfers(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'move-transfers',
    everyMs: EVERY_MS,
    leaseMs: LEASE_MS,
    run: async () => void (await moveTransfers(plane)),
  })
}

/** Shows the state of the treasury, and raises alarms. */
export function startWatchTreasury(plane: WorkerPlane): RunningWorker {
  return repeat(plane, { name: 'watch-treasury', everyMs: WATCH_EVERY_MS, run: () => watchTreasury(plane) })
}
