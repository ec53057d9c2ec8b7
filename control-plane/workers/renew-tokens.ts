import { renewTokens } from '#control-plane/services/offers/renew-tokens.ts'
import { SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

const EVERY_MS = 5 * SECOND

/**
 * Makes access tokens for service accounts before the former ones expire. Every process does so: one process makes each
 * token.
 */
export function startRenewTokens(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'renew-tokens',
    everyMs: EVERY_MS,
    isShared: true,
    run: async () => {
      await renewTokens(plane)
    },
  })
}
