import { tendAllowances } from '#control-plane/services/allowances/tend-allowances.ts'
import { SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const EVERY_MS = SECOND
/** After the death of a process another takes over in this time. Two overlapping turns do no harm. */
const LEASE_MS = 15 * SECOND

/** Tends accounts that pay from their wallets. */
export function startTendAllowances(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'tend-allowances',
    everyMs: EVERY_MS,
    leaseMs: LEASE_MS,
    run: async () => void (await tendAllowances(plane)),
  })
}
