import { createLostEnds } from '#control-plane/services/jobs/find-lost-ends.ts'
import { bookParkedEnds, createJobPolls } from '#control-plane/services/jobs/poll-jobs.ts'
import { ledgerArchive, noteJobMarks, restoreJobs } from '#control-plane/services/jobs/restore-jobs.ts'
import { MINUTE, SECOND } from '#shared/clock.ts'
import type { RunningWorker, WorkerPlane } from './worker.ts'
import { repeat } from './worker.ts'

/** At the limit of concurrent polls, one provider is polled about 64 times a second. */
const EVERY_MS = 0.5 * SECOND
/** A younger mark is lost with Redis, unless the process that made it still runs. */
const KEEP_EVERY_MS = 1 * SECOND
/**
 * Buyers are refused until records exist again, so they must not wait long for a dead worker. Two workers whose turns
 * last longer write the same records.
 */
const KEEP_LEASE_MS = 5 * SECOND
const FIND_EVERY_MS = 1 * SECOND
/** A provider may take long to answer. */
const FIND_LEASE_MS = MINUTE

/** Polls open jobs until they end. Every process does so: one process at a time has each job. */
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

/** Books ends of jobs that neither the end's transaction nor the submit's saw. */
export function startFinishJobs(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'finish-jobs',
    everyMs: plane.moneyTimes.sweepEveryMs,
    run: async () => {
      plane.metrics.swept('jobs', await bookParkedEnds(plane))
    },
  })
}

/** Copies facts about jobs that only Redis has, and returns them to a Redis that has lost them. */
export function startKeepJobs(plane: WorkerPlane): RunningWorker {
  return repeat(plane, {
    name: 'keep-jobs',
    everyMs: KEEP_EVERY_MS,
    leaseMs: KEEP_LEASE_MS,
    run: async () => {
      await noteJobMarks(plane)
      const restored = await restoreJobs(plane, ledgerArchive(plane))
      if (restored > 0) plane.log.info({ restored }, 'jobs were written to Redis again')
    },
  })
}

/** Polls jobs again for their files when Redis lost their ends before they were announced. */
export function startFindLostEnds(plane: WorkerPlane): RunningWorker {
  const ends = createLostEnds(plane)
  return repeat(plane, {
    name: 'find-lost-ends',
    everyMs: FIND_EVERY_MS,
    leaseMs: FIND_LEASE_MS,
    run: async () => {
      const foundEnds = await ends.turn()
      if (foundEnds > 0) plane.log.info({ found: foundEnds }, 'files of ended jobs were requested again')
    },
  })
}
