import {
  archiveMonth,
  listAttachedMonths,
  listStrayPartitions,
  makeMonthPartitions,
} from '#control-plane/db/partitions.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { utcMonth } from '#shared/clock.ts'

/** Months for which partitions are kept ready. */
const MONTHS_AHEAD = 3
/** A hold, a journal, a job of 27 hours and what an operator looks at are all younger than this. */
const MIN_RETENTION_MONTHS = 2

type PartitionCtx = Pick<Ctx, 'db' | 'clock' | 'log'>

/** Makes the partitions of the coming months and answers the new ones; warns when ids fell outside all months. */
export async function keepPartitions(ctx: PartitionCtx): Promise<string[]> {
  const made = await makeMonthPartitions(ctx.db, ctx.clock.now(), MONTHS_AHEAD)
  const stray = await listStrayPartitions(ctx.db)
  if (stray.length > 0) ctx.log.warn({ tables: stray }, 'default partitions hold rows')
  return made
}

/**
 * Detaches the months that are older than so many whole ones before the running one, oldest first, and answers them. None
 * for 0, and never fewer than two months stay. One that may not go yet keeps those after it, and the log says why.
 */
export async function archiveMonths(ctx: PartitionCtx, retentionMonths: number): Promise<string[]> {
  if (retentionMonths === 0) return []
  const now = new Date(ctx.clock.now())
  const kept = Math.max(retentionMonths, MIN_RETENTION_MONTHS)
  const oldestKept = utcMonth(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - kept, 1))
  const archived: string[] = []
  for (const month of await listAttachedMonths(ctx.db)) {
    if (month >= oldestKept) break
    try {
      if (await archiveMonth(ctx.db, month)) archived.push(month)
    } catch (error) {
      ctx.log.warn({ err: error, month }, 'a month past its retention stays attached')
      break
    }
  }
  return archived
}
