import type { JobStore } from '#data-plane/store/jobs.ts'
import type { Cancel, Time } from '#shared/clock.ts'
import { SECOND } from '#shared/clock.ts'
import { isHidden } from '#shared/contract/job-record.ts'
import { describeCause } from '#shared/errors.ts'
import type { Logger } from '#shared/logger.ts'
import type { JobFiles } from './keep-job-files.ts'

const EVERY_MS = 1 * SECOND
/** Jobs that one turn takes. The others wait for a process with room. */
const AT_ONCE = 8

type Parts = {
  readonly jobs: Pick<JobStore, 'find' | 'takeFilesDue'>
  readonly files: Pick<JobFiles, 'show' | 'figures'>
  readonly clock: Pick<Time, 'every'>
  readonly log: Logger
}

/**
 * Copies the files of jobs that workers ended, before their providers drop them: their buyers may look them up much
 * later. A process that dies in between leaves them to the first look-up of their buyer.
 */
export function keepDueFiles({ jobs, files, clock, log }: Parts): Cancel {
  let isTaking = false

  async function take(): Promise<void> {
    if (files.figures().waiting > 0) return
    for (const rid of await jobs.takeFilesDue(AT_ONCE)) {
      const job = await jobs.find(rid)
      if (job?.isBooked === true && !isHidden(job)) files.show(job, rid)
    }
  }

  return clock.every(EVERY_MS, () => {
    if (isTaking) return
    isTaking = true
    take()
      .catch((error: unknown) => log.debug({ cause: describeCause(error) }, 'files of jobs will be copied later'))
      .finally(() => {
        isTaking = false
      })
  })
}
