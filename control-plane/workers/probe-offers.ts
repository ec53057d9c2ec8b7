import { probeOffers } from '#control-plane/services/offers/probe-offers.ts'
import { SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

/** With ten keys a turn, all providers together get at most one probe a second. */
const EVERY_MS = 10 * SECOND
/** A turn probes one provider after another, and each may be slow. */
const LEASE_MS = 240 * SECOND

/** Probes saved keys from time to time, in one process at a time. */
export function startProbeOffers(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'probe-offers',
    everyMs: EVERY_MS,
    leaseMs: LEASE_MS,
    run: async () => {
      await probeOffers(plane)
    },
  })
}
