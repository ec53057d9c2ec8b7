import type { Job } from '#control-plane/db/jobs.ts'
import { nextPoll } from '#control-plane/services/booking/job-schedule.ts'
import type { AttendCtx } from '#control-plane/services/jobs/attend-job.ts'
import { attendJob } from '#control-plane/services/jobs/attend-job.ts'
import type { JobProvider } from '#control-plane/services/jobs/job-lines.ts'
import type { LedgerSession } from '#test/sim/ledger/ledger-host.ts'
import type { JobProviders } from '#test/sim/providers/job-providers.ts'
import type { SimProcess } from '#test/sim/time/scheduler.ts'
import { recordIn } from './job-archive.ts'

/** A worker from the view of its polls of jobs. */
type Asker = {
  readonly ctx: AttendCtx
  readonly session: LedgerSession
  readonly process: SimProcess
  readonly providers: JobProviders
  /** By offer. */
  readonly places: ReadonlyMap<string, JobProvider>
}

/**
 * Handles the due jobs like a worker's turn. Leases are not simulated: two workers may handle the same job at the same
 * moment, and the job must still end once.
 */
export async function pollDueJobs({ ctx, session, process, providers, places }: Asker): Promise<void> {
  const now = ctx.clock.now()
  const due = await session.read(({ jobs }) =>
    [...jobs.values()].filter(
      // The test's own code ends jobs that no provider of this world has.
      (job) => job.endedAt === null && job.pollAt.getTime() <= now && providers.has(job.providerJob),
    ),
  )
  const kept = await ctx.jobBook.read(due.map(({ rid }) => rid))
  await Promise.all(
    due.map(async (job, index) => {
      const ask = () => providers.askByWorker(process, job.providerJob, job.deadlineAt.getTime() <= ctx.clock.now())
      const record = kept[index] === undefined ? recordIn(places, job) : undefined
      const attended = await attendJob(ctx, job, kept[index], { record, ask }).catch(() => undefined)
      if (attended?.isOver === true) return
      const isUnknown = attended?.answer?.kind === 'unknown'
      await postpone(session, job, ctx.clock.now(), isUnknown)
    }),
  )
}

function postpone(session: LedgerSession, job: Job, now: number, isUnknown: boolean): Promise<void> {
  const polls = job.polls + 1
  const at = nextPoll({ rid: job.rid, polls, now, deadlineAt: job.deadlineAt.getTime() })
  return session.write(({ jobs }) => {
    const row = jobs.get(job.rid)
    if (row === undefined || row.endedAt !== null) return
    jobs.set(job.rid, { ...row, polls, pollAt: new Date(at), unknownPolls: isUnknown ? row.unknownPolls + 1 : 0 })
  })
}
