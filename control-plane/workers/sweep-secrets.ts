import { SWEEP_SECRETS_EVERY_MS, sweepFormerSecrets } from '#control-plane/services/keys/former-secrets.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

/** Deletes former secrets of keys after their window. */
export function startSweepSecrets(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'sweep-secrets',
    everyMs: SWEEP_SECRETS_EVERY_MS,
    run: async () => {
      await sweepFormerSecrets(plane)
    },
  })
}
