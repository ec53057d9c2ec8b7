import { transact } from '#control-plane/db/database.ts'
import { compareNextDay, findDayToSum, lockUsageDays, sumDay } from '#control-plane/db/usage-days.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'

/** Most days of one turn, each in a transaction of its own. A long backlog takes several turns. */
const MAX_DAYS = 100

/**
 * Sums finished days by buyer and by seller, and days with late bookings again. Returns their number. When a process
 * dies, the next turn does the rest. Summing a day twice gives the same rows.
 */
export async function sumUsageDays(ctx: Pick<Ctx, 'db'>): Promise<number> {
  for (let days = 0; days < MAX_DAYS; days++) {
    const isDone = await transact(ctx.db, async (trx) => {
      await lockUsageDays(trx)
      const day = await findDayToSum(trx)
      if (day === undefined) return true
      await sumDay(trx, day)
      return false
    })
    if (isDone) return days
  }
  return MAX_DAYS
}

/**
 * Compares the sums of one day with its settlements, a different day each time, and sums a day that differs again. A
 * difference is logged as an error, because only a write that bypassed this code can cause it.
 */
export async function compareUsageDay(ctx: Pick<Ctx, 'db' | 'log'>): Promise<void> {
  const wrong = await transact(ctx.db, async (trx) => {
    await lockUsageDays(trx)
    return compareNextDay(trx)
  })
  if (wrong !== undefined) ctx.log.error({ day: wrong }, 'the daily sums differed from the calls of the day')
}
