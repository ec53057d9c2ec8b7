import { publishWaitingKeys, restoreKeyStore } from '#control-plane/services/keys/key-store.ts'
import { SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

/** Longest time until a revocation that was not pushed, or an emptied store, is noticed. */
const WATCH_EVERY_MS = SECOND
const RECONCILE_EVERY_MS = 30 * SECOND

/** Publishes waiting keys, and refills a store that has lost its data. */
export function startWatchStore(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'watch-store',
    everyMs: WATCH_EVERY_MS,
    run: async () => {
      const wasEmpty = await restoreKeyStore(plane)
      await publishWaitingKeys(plane)
      if (wasEmpty) plane.log.info('the key store was empty and is filled')
      if (await plane.publication.isWhole()) return
      const published = await plane.publication.reconcile()
      plane.log.info({ documents: published.length }, 'the snapshot was not whole and is published')
    },
  })
}

/**
 * Compares every document with Postgres. It publishes prices that have come into effect and repairs failed
 * publications.
 */
export function startReconcileSnapshot(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'reconcile-snapshot',
    everyMs: RECONCILE_EVERY_MS,
    run: async () => {
      const published = await plane.publication.reconcile()
      if (published.length > 0) plane.log.info({ documents: published }, 'documents were behind and are published')
    },
  })
}
