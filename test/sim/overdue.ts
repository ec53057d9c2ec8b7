import { deadlineEnd } from '#control-plane/services/money/deadline-end.ts'
import { DEADLINE_SOURCE } from '#control-plane/services/money/finish-job.ts'
import type { IngestCtx } from '#control-plane/services/money/ingest.ts'
import { postBatch } from '#control-plane/services/money/ingest.ts'
import type { Ground } from './ground.ts'
import type { JobProviders } from './job-providers.ts'

/**
 * Ends the jobs past their deadline, each with what its provider says then. Two workers may do so at once: the ledger
 * books one end.
 */
export async function endOverdue({ postgres }: Ground, ctx: IngestCtx, providers: JobProviders): Promise<void> {
  const now = ctx.clock.now()
  for (const job of postgres.tables().jobs.values()) {
    // Jobs that no provider of this world was given are ended by whoever made them.
    if (job.endedAt !== null || job.deadlineAt.getTime() > now || !providers.has(job.providerJob)) continue
    const text = deadlineEnd(job, providers.askLate(job.providerJob), now)
    if (text !== undefined) await postBatch(ctx, { events: [text], source: DEADLINE_SOURCE })
  }
}
