import { bookParkedEnds, createJobPolls } from '#control-plane/services/money/poll-jobs.ts'
import { SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

/** With the most questions at a time to one provider, it can be asked about 64 jobs a second. */
const EVERY_MS = 0.5 * SECOND

/** Asks about open jobs until they end. Every process does so: each job is one process's at a time. */
export function startPollJobs(plane: WorkerPlane): RunningWorker {
  const polls = createJobPolls(plane, plane.workerId)
  const worker = repeat(plane, {
    name: 'poll-jobs',
    everyMs: EVERY_MS,
    isShared: true,
    run: async () => {
      await polls.turn()
      plane.metrics.swept('jobs', polls.ended())
    },
  })
  return {
    name: worker.name,
    stop: async () => {
      await worker.stop()
      await polls.settle()
    },
  }
}

/** Books ends of jobs that neither the end's transaction nor the submit's has seen. */
export function startFinishJobs(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'finish-jobs',
    everyMs: plane.moneyTimes.sweepEveryMs,
    run: async () => {
      plane.metrics.swept('jobs', await bookParkedEnds(plane))
    },
  })
}
