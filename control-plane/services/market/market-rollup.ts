import type { Trx } from '#control-plane/db/database.ts'
import { transact } from '#control-plane/db/database.ts'
import { rollUpIncidents } from '#control-plane/db/incidents.ts'
import type { FigureRow } from '#control-plane/db/market-figures.ts'
import { ALL, listFigures, listStaleRows, putMarketRows, replaceFigures } from '#control-plane/db/market-figures.ts'
import type { CountedHour } from '#control-plane/db/market-rollup.ts'
import {
  countHours,
  deleteOfferHours,
  lockRollUp,
  markDue,
  markDueHours,
  takeDue,
} from '#control-plane/db/market-rollup.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { DAY, MINUTE } from '#shared/clock.ts'
import { computeMarketRows, dayBefore } from './market-rows.ts'
import { combine, storedOf } from './market-sums.ts'

/** Most hours, days and models of one transaction, and most transactions of one turn. */
const HOURS_AT_ONCE = 24
const DAYS_AT_ONCE = 2
const MODELS_AT_ONCE = 50
const MAX_STEPS = 100
/** Least time between two sums of a day. Its first sum is made at once, so that no screen waits for it. */
const DAY_AGED_MS = 5 * MINUTE
/** Time for which hours of single offers are kept. Sellers see the last 30 days, and the running one. */
const OFFER_HOURS_MS = 32 * DAY

type RollUpCtx = Pick<Ctx, 'db' | 'clock'>

/** The result of a turn: the computed hours and days, and whether more are waiting. */
export type RollUpReport = { readonly hours: number; readonly days: number; readonly isBehind: boolean }

/**
 * Computes hours with new calls or health events again, and then their days. Each step is one transaction that also
 * removes the marks of its hours or days. When a process dies, the remaining marks stay, and a repeated step writes the
 * same rows. `dayAgedMs` of zero sums every day with new hours at once.
 */
export async function rollUp(ctx: RollUpCtx, dayAgedMs = DAY_AGED_MS): Promise<RollUpReport> {
  await transact(ctx.db, async (trx) => {
    await lockRollUp(trx)
    await markDueHours(trx)
  })
  await transact(ctx.db, async (trx) => {
    await lockRollUp(trx)
    await rollUpIncidents(trx)
  })
  const now = ctx.clock.now()
  let hours = 0
  let days = 0
  let steps = 0
  for (let done = -1; done !== 0 && steps < MAX_STEPS; steps++) {
    done = await transact(ctx.db, (trx) => rollUpHours(trx, now))
    hours += done
  }
  for (let done = -1; done !== 0 && steps < MAX_STEPS; steps++) {
    done = await transact(ctx.db, (trx) => rollUpDays(trx, dayAgedMs))
    days += done
  }
  await transact(ctx.db, (trx) => refreshStaleRows(trx, now))
  if (hours > 0) await deleteOfferHours(ctx.db, now - OFFER_HOURS_MS)
  return { hours, days, isBehind: steps >= MAX_STEPS }
}

async function rollUpHours(trx: Trx, now: number): Promise<number> {
  await lockRollUp(trx)
  const hours = await takeDue(trx, { grain: 'hour', limit: HOURS_AT_ONCE, agedMs: 0 })
  if (hours.length === 0) return 0
  const counted = await countHours(trx, hours)
  await replaceFigures(
    trx,
    'hour',
    hours,
    sumUp(counted, (row) => row.startsAt.getTime()),
  )
  await markDue(trx, 'day', [...new Set(hours.map((hour) => Math.floor(hour / DAY) * DAY))])
  const shown = counted.filter((row) => row.startsAt.getTime() >= dayBefore(now) - DAY)
  await refreshRows(trx, now, [...new Set(shown.map((row) => row.model))])
  return hours.length
}

async function rollUpDays(trx: Trx, agedMs: number): Promise<number> {
  await lockRollUp(trx)
  const days = await takeDue(trx, { grain: 'day', limit: DAYS_AT_ONCE, agedMs })
  if (days.length === 0) return 0
  const rows: FigureRow[] = []
  for (const day of days) {
    const level = { model: 'each', provider: 'each' } as const
    rows.push(...sumUp(await listFigures(trx, 'hour', { from: day, to: day + DAY, level }), () => day))
  }
  await replaceFigures(trx, 'day', days, rows)
  return days.length
}

/** Computes the published rows of models and stores them. */
async function refreshRows(trx: Trx, now: number, models: readonly string[]): Promise<void> {
  for (let from = 0; from < models.length; from += MODELS_AT_ONCE) {
    const some = models.slice(from, from + MODELS_AT_ONCE)
    await putMarketRows(trx, dayBefore(now), await computeMarketRows(trx, now, some))
  }
}

/** Refreshes the rows of models without new calls, because their window has moved on. */
async function refreshStaleRows(trx: Trx, now: number): Promise<void> {
  await lockRollUp(trx)
  await refreshRows(trx, now, await listStaleRows(trx, dayBefore(now)))
}

/** Sums rows by time, model and provider, with totals over models, over providers, and over both. */
function sumUp(rows: readonly CountedHour[], startOf: (row: CountedHour) => number): FigureRow[] {
  const places = new Map<string, { readonly place: Place; readonly rows: CountedHour[] }>()
  for (const row of rows) {
    const startsAt = startOf(row)
    for (const model of [row.model, ALL]) {
      for (const provider of [row.provider, ALL]) {
        const name = `${startsAt}\n${model}\n${provider}`
        const place = places.get(name)
        if (place) place.rows.push(row)
        else places.set(name, { place: { startsAt: new Date(startsAt), model, provider }, rows: [row] })
      }
    }
  }
  return [...places.values()].map(({ place, rows: own }) => ({ ...place, ...storedOf(combine(own)) }))
}
type Place = Pick<FigureRow, 'startsAt' | 'model' | 'provider'>
