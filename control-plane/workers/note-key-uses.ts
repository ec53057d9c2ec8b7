import { NOTE_USES_EVERY_MS, noteKeyUses } from '#control-plane/services/keys/key-seen.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

/** Stores the last use of keys by calls. */
export function startNoteKeyUses(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'note-key-uses',
    everyMs: NOTE_USES_EVERY_MS,
    run: async () => {
      await noteKeyUses(plane)
    },
  })
}
