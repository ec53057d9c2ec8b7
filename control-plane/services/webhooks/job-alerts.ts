import { transact } from '#control-plane/db/database.ts'
import type { UnannouncedJob } from '#control-plane/db/jobs.ts'
import { listUnannouncedJobs, markJobAnnounced } from '#control-plane/db/jobs.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { viewOfJob } from '#control-plane/services/jobs/job-view.ts'
import { lentSubmit } from '#control-plane/services/jobs/lent-job-lines.ts'
import { restoreRecord } from '#control-plane/services/jobs/restore-jobs.ts'
import { sealShown } from '#control-plane/services/jobs/shown-job.ts'
import type { StoredJob } from '#shared/contract/job-record.ts'
import { isJobRestored } from '#shared/contract/job-record.ts'
import type { DeliveryId } from '#shared/ids.ts'
import { tellAccount } from './tell-account.ts'

/** Ends of one read, and the least number of ends that one turn announces while that many are ready. */
const PAGE = 200
const MAX_PAGES = 10
/** The shown form of an end that is unknown. */
const UNKNOWN = ''

type TellCtx = Pick<Ctx, 'db' | 'clock' | 'ids' | 'settings' | 'jobBook' | 'announce' | 'log'>

/**
 * Announces jobs that ended: stores a delivery for each listening webhook, once, and notifies watchers. The shown form
 * of the end is kept as well, in case Redis loses it. An end whose record Redis has already lost waits until the record
 * exists again, and is then announced with the provider's present answer. Returns the deliveries. Rejects while Redis
 * is away, because only Redis knows a job's files.
 */
export async function tellEndedJobs(ctx: TellCtx): Promise<DeliveryId[]> {
  const alerted: DeliveryId[] = []
  let [waiting, ended] = [0, 0]
  for (let page = 0; page < MAX_PAGES && ended < PAGE; page++) {
    const unannouncedJobs = await listUnannouncedJobs(ctx.db, PAGE, waiting)
    if (unannouncedJobs.length === 0) break
    const { deliveries, accounts } = await tellPage(ctx, unannouncedJobs)
    alerted.push(...deliveries)
    ended += accounts.length
    waiting += unannouncedJobs.length - accounts.length
    ctx.announce('jobs', [...new Set(accounts)])
    if (unannouncedJobs.length < PAGE) break
  }
  return alerted
}

/** Returns the accounts of the announced jobs. */
async function tellPage(ctx: TellCtx, unannouncedJobs: readonly UnannouncedJob[]) {
  const { jobBook } = ctx
  // Redis may be emptied between the two reads.
  const before = await jobBook.restoredTo()
  const storedJobs = await jobBook.read(unannouncedJobs.map(({ rid }) => rid))
  const after = await jobBook.restoredTo()
  const deliveries: DeliveryId[] = []
  const accounts: UnannouncedJob['account'][] = []
  for (const [index, job] of unannouncedJobs.entries()) {
    const record = storedJobs[index]
    const isRestored = [before, after].every((to) => isJobRestored(to, job.rid))
    if (record === undefined ? await isRecordLost(ctx, job, isRestored) : await isEndLost(ctx, job, record)) continue
    deliveries.push(...(await tell(ctx, job, record)))
    accounts.push(job.account)
  }
  return { deliveries, accounts }
}

/** True while a job waits for its record. A forwarded job never has one. */
async function isRecordLost(ctx: TellCtx, { rid, event }: UnannouncedJob, isRestored: boolean): Promise<boolean> {
  if (lentSubmit(event) !== undefined) return false
  return !isRestored || restoreRecord(ctx, rid)
}

/** True while the record of a job lacks its booked end. The record then gets the event, for a later read. */
async function isEndLost(
  { jobBook }: TellCtx,
  { rid, endEvent }: UnannouncedJob,
  storedJob: StoredJob,
): Promise<boolean> {
  if (storedJob.end !== undefined || endEvent === null) return false
  if (storedJob.lostEnd === undefined) await jobBook.noteLostEnd(rid, endEvent)
  return true
}

async function tell(ctx: TellCtx, job: UnannouncedJob, storedJob: StoredJob | undefined): Promise<DeliveryId[]> {
  const at = ctx.clock.now()
  const view = viewOfJob({ ...job, artifacts: storedJob?.end?.artifacts.length ?? null })
  const { id, state, artifacts } = view
  if (state === 'running') return []
  const event = `job.${state}` as const
  // Links to files are left out: the reader of the message may not be allowed to read the files.
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
    if (!(await markJobAnnounced(trx, id, { artifacts, shown: sealed, at }))) return []
    return tellAccount(ctx, trx, job.account, { event, data })
  })
}
