import { transact } from '#control-plane/db/database.ts'
import type { Job } from '#control-plane/db/jobs.ts'
import { listAskedJobs, listParkedEnds, takeOverdueJobs } from '#control-plane/db/jobs.ts'
import { moneyTransaction } from '#control-plane/db/money-ledger.ts'
import type { Ctx } from '#control-plane/operation.ts'
import type { JobProbe, JobVerdict } from '#control-plane/ports/job-probe.ts'
import { MINUTE } from '#shared/clock.ts'
import { jobEndId } from '#shared/contract/usage-event.ts'
import { splitCharge, ZERO } from '#shared/money.ts'
import { bookParked, DEADLINE_SOURCE } from './finish-job.ts'
import { postBatch } from './ingest.ts'
import { confirmBuyers } from './ledger.ts'
import { isPoison, readEvent } from './usage-reading.ts'

type JobCtx = Pick<Ctx, 'db' | 'ledger' | 'gate' | 'clock' | 'log'> & { readonly askProvider: JobProbe }

const MAX_JOBS = 100
/** A job that was being asked about when its worker died is ended, unasked, after so long. */
const ASKED_FOR_MS = 5 * MINUTE

/**
 * Ends the jobs that are past their deadline, asking the provider of each once: a job that it calls done is charged its
 * quote, any other costs nothing. Books ends that waited for a submit, too. Answers how many jobs came to their end.
 */
export async function finishJobs(ctx: JobCtx): Promise<number> {
  let finished = await bookParkedEnds(ctx)
  const now = ctx.clock.now()
  for (const job of await takeOverdueJobs(ctx.db, now, MAX_JOBS)) {
    const { rid, offer, providerJob } = job
    const verdict = await ctx.askProvider({ rid, offer, providerJob })
    finished += await endJob(ctx, job, verdict)
  }
  for (const job of await listAskedJobs(ctx.db, now - ASKED_FOR_MS, MAX_JOBS))
    finished += await endJob(ctx, job, 'unknown')
  return finished
}

async function endJob(ctx: JobCtx, job: Job, verdict: JobVerdict): Promise<number> {
  const text = deadlineEnd(job, verdict, ctx.clock.now())
  if (text === undefined) {
    ctx.log.error({ rid: job.rid }, 'the submit of a job cannot be read any more')
    return 0
  }
  ctx.log.warn({ rid: job.rid, verdict }, 'a job is past its deadline and ends')
  const { posted } = await postBatch(ctx, { events: [text], source: DEADLINE_SOURCE })
  return posted
}

/** The end of a job that nobody else ended, from its submit. */
export function deadlineEnd(job: Job, verdict: JobVerdict, now: number): string | undefined {
  const read = readEvent(job.event, DEADLINE_SOURCE)
  if (isPoison(read)) return undefined
  const { job: _terms, ...submit } = read.event
  const isDone = verdict === 'succeeded'
  const charge = isDone ? submit.holdMicro : ZERO
  const { sellerNet, fee } = splitCharge(charge, submit.feeBps)
  const end = {
    ...submit,
    kind: 'end',
    rid: jobEndId(job.rid),
    endedAt: Math.max(now, submit.startedAt),
    outcome: isDone ? 'succeeded' : 'failed',
    errorCode: isDone ? null : 'upstream_timeout',
    finishReason: null,
    chargeMicro: charge,
    sellerNetMicro: sellerNet,
    feeMicro: fee,
    keptBps: Number(submit.keptBps),
    feeBps: Number(submit.feeBps),
  }
  return JSON.stringify(end, (_key, value: unknown) => (typeof value === 'bigint' ? value.toString() : value))
}

/** Books ends whose submit came at the same moment, so that neither saw the other. */
async function bookParkedEnds(ctx: JobCtx): Promise<number> {
  let booked = 0
  for (const end of await listParkedEnds(ctx.db, MAX_JOBS)) {
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
