import { DAY, HOUR, MINUTE } from '#shared/clock.ts'
import type { Trx } from '../db/database.ts'
import { transact } from '../db/database.ts'
import type { Counted, FigureRow } from '../db/market-figures.ts'
import { listFigures, replaceDays } from '../db/market-figures.ts'
import { deleteOfferHours, lockRollUp, markDue, markDueHours, recomputeHours, takeDue } from '../db/market-rollup.ts'
import type { Ctx } from '../operation.ts'
import { combine, storedOf } from './market-sums.ts'

/** Hours and days computed in one transaction, and transactions of one turn: a long backlog takes several turns. */
const HOURS_AT_ONCE = 24
const DAYS_AT_ONCE = 7
const MAX_STEPS = 100
/** A day that goes on is summed up no more often than this. */
const DAY_AGED_MS = 5 * MINUTE
/** Hours of single offers are kept so long; what is shown looks back a day. */
const OFFER_HOURS_MS = 8 * DAY

type RollUpCtx = Pick<Ctx, 'db' | 'clock'>

/** What a turn computed: how many hours and days, and whether more is left than one turn may do. */
export type RollUpReport = { readonly hours: number; readonly days: number; readonly isBehind: boolean }

/**
 * Computes the hours again that calls or health events have come in for, and then their days. Each step is a transaction
 * that takes the marks of what it computed along: a process that dies leaves the rest marked, and doing a step twice
 * gives the same rows. `dayAgedMs` of zero sums up even the running day at once.
 */
export async function rollUp(ctx: RollUpCtx, dayAgedMs = DAY_AGED_MS): Promise<RollUpReport> {
  await transact(ctx.db, async (trx) => {
    await lockRollUp(trx)
    await markDueHours(trx)
  })
  let hours = 0
  let days = 0
  let steps = 0
  for (let done = -1; done !== 0 && steps < MAX_STEPS; steps++) {
    done = await transact(ctx.db, rollUpHours)
    hours += done
  }
  for (let done = -1; done !== 0 && steps < MAX_STEPS; steps++) {
    done = await transact(ctx.db, (trx) => rollUpDays(trx, dayAgedMs))
    days += done
  }
  if (hours > 0) await deleteOfferHours(ctx.db, ctx.clock.now() - OFFER_HOURS_MS)
  return { hours, days, isBehind: steps >= MAX_STEPS }
}

async function rollUpHours(trx: Trx): Promise<number> {
  await lockRollUp(trx)
  const hours = await takeDue(trx, { grain: 'hour', limit: HOURS_AT_ONCE, agedMs: 0 })
  if (hours.length === 0) return 0
  await recomputeHours(trx, hours)
  await markDue(trx, 'day', [...new Set(hours.map((hour) => Math.floor(hour / DAY) * DAY))])
  return hours.length
}

async function rollUpDays(trx: Trx, agedMs: number): Promise<number> {
  await lockRollUp(trx)
  const days = await takeDue(trx, { grain: 'day', limit: DAYS_AT_ONCE, agedMs })
  const rows: FigureRow[] = []
  for (const day of days) rows.push(...sumUpDay(day, await listFigures(trx, 'hour', { from: day, to: day + DAY })))
  if (days.length > 0) await replaceDays(trx, days, rows)
  return days.length
}

function sumUpDay(day: number, hours: readonly FigureRow[]): FigureRow[] {
  const places = new Map<string, { readonly model: string; readonly provider: string; readonly rows: Counted[] }>()
  for (const row of hours) {
    const name = `${row.model}\n${row.provider}`
    const place = places.get(name) ?? { model: row.model, provider: row.provider, rows: [] }
    place.rows.push(row)
    places.set(name, place)
  }
  const startsAt = new Date(day)
  return [...places.values()].map(({ model, provider, rows }) => ({
    startsAt,
    model,
    provider,
    ...storedOf(combine(rows)),
  }))
}

/** The beginning of the window of 24 hour buckets that ends with the running hour. */
export function dayBefore(now: number): number {
  return Math.floor(now / HOUR) * HOUR - 23 * HOUR
}
