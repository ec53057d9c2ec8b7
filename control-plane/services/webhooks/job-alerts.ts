import { transact } from '#control-plane/db/database.ts'
import type { UntoldJob } from '#control-plane/db/jobs.ts'
import { listUntoldJobs, markJobTold } from '#control-plane/db/jobs.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { viewOfJob } from '#control-plane/services/buyers/job-view.ts'
import { sealShown } from '#control-plane/services/money/shown-job.ts'
import type { StoredJob } from '#shared/contract/job-record.ts'
import type { DeliveryId } from '#shared/ids.ts'
import { tellAccount } from './tell-account.ts'

/** Most ends that are told in one turn. */
const MAX_TOLD = 200

type TellCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'settings' | 'jobBook' | 'announce'>

/**
 * Tells of jobs that ended: writes a delivery to each webhook that listens, once, and announces the change to watchers.
 * How the end is shown is kept as well, for a Redis that loses it.
 * Returns the deliveries. Rejects while Redis is away, because only there is known which files a job made.
 */
export async function tellEndedJobs(ctx: TellCtx): Promise<DeliveryId[]> {
  const jobs = await listUntoldJobs(ctx.db, MAX_TOLD)
  if (jobs.length === 0) return []
  const kept = await ctx.jobBook.read(jobs.map(({ rid }) => rid))
  const told: DeliveryId[] = []
  for (const [index, job] of jobs.entries()) told.push(...(await tell(ctx, job, kept[index])))
  ctx.announce('jobs', [...new Set(jobs.map(({ account }) => account))])
  return told
}

async function tell(ctx: TellCtx, job: UntoldJob, kept: StoredJob | undefined): Promise<DeliveryId[]> {
  const at = ctx.clock.now()
  const view = viewOfJob({ ...job, artifacts: kept?.end?.artifacts.length ?? null })
  const { id, state, artifacts } = view
  if (state === 'running') return []
  const event = `job.${state}` as const
  // Links to files stay out of it. Whoever reads the message may not be the one who may read the files.
  const data = {
    job_id: `job_${id}`,
    request_id: id,
    model: view.model,
    kind: view.kind,
    state,
    submitted_at: view.submittedAt,
    ended_at: view.endedAt,
    quote_usdc: view.quoteMicro,
    charge_usdc: view.chargeMicro,
    unit: view.unit,
    units: view.units,
    artifacts,
  }
  const shown = (kept && sealShown(ctx, job, kept)) ?? null
  return transact(ctx.db, async (trx) => {
    if (!(await markJobTold(trx, id, { artifacts, shown, at }))) return []
    return tellAccount(ctx, trx, job.account, { event, data })
  })
}
