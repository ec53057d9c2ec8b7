import {
  archiveMonth,
  listAttachedMonths,
  listStrayPartitions,
  makeMonthPartitions,
} from '#control-plane/db/partitions.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { utcMonth } from '#shared/clock.ts'

/** Months in advance for which partitions exist. */
const MONTHS_AHEAD = 3
/** Holds, journals, jobs (up to 27 hours) and all data on the operators' screens are younger than this. */
const MIN_RETENTION_MONTHS = 2

type PartitionCtx = Pick<Ctx, 'db' | 'clock' | 'log'>

/** Creates the partitions of the coming months and returns the new ones. Warns of ids outside all months. */
export async function keepPartitions(ctx: PartitionCtx): Promise<string[]> {
  const monthPartitions = await makeMonthPartitions(ctx.db, ctx.clock.now(), MONTHS_AHEAD)
  const stray = await listStrayPartitions(ctx.db)
  if (stray.length > 0) ctx.log.warn({ tables: stray }, 'default partitions hold rows')
  return monthPartitions
}

/**
 * Detaches the months before the newest `retentionMonths` whole months, oldest first, and returns them. 0 detaches
 * none, and at least two months always stay. A month that cannot be detached yet also keeps the months after it, and
 * the log gives the reason.
 */
export async function archiveMonths(ctx: PartitionCtx, retentionMonths: number): Promise<string[]> {
  if (retentionMonths === 0) return []
  const now = new Date(ctx.clock.now())
  const months = Math.max(retentionMonths, MIN_RETENTION_MONTHS)
  const oldestKept = utcMonth(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1))
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
