import { transact } from '#control-plane/db/database.ts'
import { compareNextDay, findDayToSum, lockUsageDays, sumDay } from '#control-plane/db/usage-days.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'

/** Days summed in one turn, each in a transaction of its own: a long backlog takes several turns. */
const MAX_DAYS = 100

/**
 * Sums the days that are over, by buyer and by seller, and those again that calls were booked into late. Answers how
 * many. A process that dies leaves the rest to the next turn, and summing a day twice gives the same rows.
 */
export async function sumUsageDays(ctx: Pick<Ctx, 'db'>): Promise<number> {
  for (let days = 0; days < MAX_DAYS; days++) {
    const isDone = await transact(ctx.db, async (trx) => {
      await lockUsageDays(trx)
      const found = await findDayToSum(trx)
      if (found === undefined) return true
      await sumDay(trx, found)
      return false
    })
    if (isDone) return days
  }
  return MAX_DAYS
}

/**
 * Compares the sums of one day with its settlements, another one each time, and sums a day again that differs. That never
 * happens unless somebody wrote past us: it is logged as an error.
 */
export async function compareUsageDay(ctx: Pick<Ctx, 'db' | 'log'>): Promise<void> {
  const wrong = await transact(ctx.db, async (trx) => {
    await lockUsageDays(trx)
    return compareNextDay(trx)
  })
  if (wrong !== undefined) ctx.log.error({ day: wrong }, 'the sums of a day were not those of its calls')
}
