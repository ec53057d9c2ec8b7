import { tendAllowances } from '#control-plane/services/allowances/tend-allowances.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const EVERY_MS = SECOND
/** A turn looks after hundreds of lines and waits for the chain. */
const LEASE_MS = MINUTE

/** Looks after accounts that pay from their wallets. */
export function startTendAllowances(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'tend-allowances',
    everyMs: EVERY_MS,
    leaseMs: LEASE_MS,
    run: async () => void (await tendAllowances(plane)),
  })
}
