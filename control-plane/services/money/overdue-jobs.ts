import { transact } from '#control-plane/db/database.ts'
import type { Job } from '#control-plane/db/jobs.ts'
import { findJobPlace, listAskedJobs, listParkedEnds, takeOverdueJobs } from '#control-plane/db/jobs.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { moneyTransaction } from '#control-plane/ports/ledger/postgres-money-ledger.ts'
import type { JobProbe } from '#control-plane/ports/provider/job-probe.ts'
import { checkBaseUrl } from '#control-plane/services/providers/base-url.ts'
import { MINUTE } from '#shared/clock.ts'
import { SealedCredentialSchema } from '#shared/contract/sealed-credential.ts'
import { readUsageEvent } from '#shared/contract/usage-event.ts'
import type { ProviderJob } from '#shared/jobs.ts'
import { isJobKind } from '#shared/protocols/job-codec.ts'
import { openCredential } from '#shared/seal.ts'
import { deadlineEnd } from './deadline-end.ts'
import { bookParked, DEADLINE_SOURCE } from './finish-job.ts'
import { postBatch } from './ingest.ts'
import { confirmBuyers } from './ledger.ts'

type JobCtx = Pick<Ctx, 'db' | 'ledger' | 'gate' | 'clock' | 'log' | 'settings'> & { readonly askProvider: JobProbe }

const MAX_ENDS = 100
/** Jobs of one turn. Their providers are asked all at once. */
const JOBS_A_TURN = 8
/** Time after which a job is ended without asking, because the worker that was asking about it died. */
const ASKED_FOR_MS = 5 * MINUTE

/**
 * Ends jobs that are past their deadline and returns their number. The provider of each is asked once. A job that its
 * provider calls done is charged for its usage, at most its quote. Any other job costs nothing. Ends that waited for a
 * submit are booked as well.
 */
export async function finishJobs(ctx: JobCtx): Promise<number> {
  let finished = await bookParkedEnds(ctx)
  const now = ctx.clock.now()
  const overdue = await takeOverdueJobs(ctx.db, now, JOBS_A_TURN)
  const answers = await Promise.all(overdue.map((job) => ask(ctx, job)))
  for (const [index, job] of overdue.entries()) finished += await endJob(ctx, job, answers[index])
  for (const job of await listAskedJobs(ctx.db, now - ASKED_FOR_MS, MAX_ENDS))
    finished += await endJob(ctx, job, undefined)
  return finished
}

/** Asks the provider about a job with the key of its offer. Returns undefined when the provider cannot be asked. */
async function ask(ctx: JobCtx, { rid, offer, event, providerJob }: Job): Promise<ProviderJob | undefined> {
  try {
    const wire = readUsageEvent(event)?.wire ?? ''
    const stored = offer === null ? undefined : await findJobPlace(ctx.db, offer)
    if (stored === undefined || !isJobKind(wire)) return undefined
    const { url: baseUrl } = await checkBaseUrl(ctx, stored.baseUrl)
    const apiKey = openCredential(ctx.settings.keyRing, SealedCredentialSchema.parse(stored.sealed))
    return await ctx.askProvider({ kind: wire, providerJob, place: { baseUrl, apiFormat: stored.apiFormat, apiKey } })
  } catch (error) {
    ctx.log.warn({ err: error, rid }, 'the provider of a job could not be asked')
    return undefined
  }
}

async function endJob(ctx: JobCtx, job: Job, said: ProviderJob | undefined): Promise<number> {
  const text = deadlineEnd(job, said, ctx.clock.now())
  if (text === undefined) {
    ctx.log.error({ rid: job.rid }, 'the submit of a job cannot be read any more')
    return 0
  }
  ctx.log.warn({ rid: job.rid, state: said?.state ?? null }, 'a job is past its deadline and ends')
  const { posted } = await postBatch(ctx, { events: [text], source: DEADLINE_SOURCE })
  return posted
}

/** Books ends that arrived at the same moment as their submit, so that neither transaction saw the other. */
async function bookParkedEnds(ctx: JobCtx): Promise<number> {
  let booked = 0
  for (const end of await listParkedEnds(ctx.db, MAX_ENDS)) {
    const balances = await transact(ctx.db, (trx) => bookParked(moneyTransaction(trx), end))
    if (balances.length === 0) {
      ctx.log.error({ rid: end.rid }, 'an end does not fit its job and waits for a person')
      continue
    }
    booked += 1
    await confirmBuyers(ctx, balances).catch((error: unknown) =>
      ctx.log.warn({ err: error, rid: end.rid }, 'the gate will hear of a job later'),
    )
  }
  return booked
}
