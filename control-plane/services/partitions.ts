import { listStrayPartitions, makeMonthPartitions } from '../db/partitions.ts'
import type { Ctx } from '../operation.ts'

/** Months for which partitions are kept ready. */
const MONTHS_AHEAD = 3

/** Makes the partitions of the coming months and answers the new ones; warns when ids fell outside all months. */
export async function keepPartitions(ctx: Pick<Ctx, 'db' | 'clock' | 'log'>): Promise<string[]> {
  const made = await makeMonthPartitions(ctx.db, ctx.clock.now(), MONTHS_AHEAD)
  const stray = await listStrayPartitions(ctx.db)
  if (stray.length > 0) ctx.log.warn({ tables: stray }, 'default partitions hold rows')
  return made
}
