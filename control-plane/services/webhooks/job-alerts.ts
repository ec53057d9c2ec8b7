import { transact } from '#control-plane/db/database.ts'
import type { UntoldJob } from '#control-plane/db/jobs.ts'
import { listUntoldJobs, markJobTold } from '#control-plane/db/jobs.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { viewOfJob } from '#control-plane/services/jobs/job-view.ts'
import { lentSubmit } from '#control-plane/services/jobs/lent-job-lines.ts'
import { restoreRecord } from '#control-plane/services/jobs/restore-jobs.ts'
import { sealShown } from '#control-plane/services/jobs/shown-job.ts'
import type { StoredJob } from '#shared/contract/job-record.ts'
import { isJobRestored } from '#shared/contract/job-record.ts'
import type { DeliveryId } from '#shared/ids.ts'
import { tellAccount } from './tell-account.ts'

/** Ends that are read together, and that one turn tells at least while there are so many that do not wait. */
const PAGE = 200
const MAX_PAGES = 10
/** The shown form of an end that nobody knows. */
const UNKNOWN = ''

type TellCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'settings' | 'jobBook' | 'announce' | 'log'>

/**
 * Tells of jobs that ended: writes a delivery to each webhook that listens, once, and announces the change to watchers.
 * The shown form of the end is kept as well, for a Redis that loses it. An end that Redis has lost before waits until
 * its record is there again, and is then told with the provider's present answer.
 * Returns the deliveries. Rejects while Redis is away, because only there is known which files a job made.
 */
export async function tellEndedJobs(ctx: TellCtx): Promise<DeliveryId[]> {
  const alerted: DeliveryId[] = []
  let [waiting, ended] = [0, 0]
  for (let page = 0; page < MAX_PAGES && ended < PAGE; page++) {
    const untold = await listUntoldJobs(ctx.db, PAGE, waiting)
    if (untold.length === 0) break
    const { deliveries, accounts } = await tellPage(ctx, untold)
    alerted.push(...deliveries)
    ended += accounts.length
    waiting += untold.length - accounts.length
    ctx.announce('jobs', [...new Set(accounts)])
    if (untold.length < PAGE) break
  }
  return alerted
}

/** Answers the accounts of those that were told. */
async function tellPage(ctx: TellCtx, untold: readonly UntoldJob[]) {
  const { jobBook } = ctx
  // Redis may be emptied between two of the reads.
  const before = await jobBook.restoredTo()
  const storedJobs = await jobBook.read(untold.map(({ rid }) => rid))
  const after = await jobBook.restoredTo()
  const deliveries: DeliveryId[] = []
  const accounts: UntoldJob['account'][] = []
  for (const [index, job] of untold.entries()) {
    const record = storedJobs[index]
    const isRestored = [before, after].every((to) => isJobRestored(to, job.rid))
    if (record === undefined ? await isRecordLost(ctx, job, isRestored) : await isEndLost(ctx, job, record)) continue
    deliveries.push(...(await tell(ctx, job, record)))
    accounts.push(job.account)
  }
  return { deliveries, accounts }
}

/** True while a job waits for its record. A forwarded job never has one. */
async function isRecordLost(ctx: TellCtx, { rid, event }: UntoldJob, isRestored: boolean): Promise<boolean> {
  if (lentSubmit(event) !== undefined) return false
  return !isRestored || restoreRecord(ctx, rid)
}

/** True while its record does not say how a booked end is shown. It is told the event, for whoever finds that out. */
async function isEndLost({ jobBook }: TellCtx, { rid, endEvent }: UntoldJob, storedJob: StoredJob): Promise<boolean> {
  if (storedJob.end !== undefined || endEvent === null) return false
  if (storedJob.lostEnd === undefined) await jobBook.noteLostEnd(rid, endEvent)
  return true
}

async function tell(ctx: TellCtx, job: UntoldJob, storedJob: StoredJob | undefined): Promise<DeliveryId[]> {
  const at = ctx.clock.now()
  const view = viewOfJob({ ...job, artifacts: storedJob?.end?.artifacts.length ?? null })
  const { id, state, artifacts } = view
  if (state === 'running') return []
  const event = `job.${state}` as const
  // Links to files stay out of it. The reader of the message may not be the one who may read the files.
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
  const sealed = (storedJob && sealShown(ctx, job, storedJob)) ?? UNKNOWN
  return transact(ctx.db, async (trx) => {
    if (!(await markJobTold(trx, id, { artifacts, shown: sealed, at }))) return []
    return tellAccount(ctx, trx, job.account, { event, data })
  })
}
