import { z } from 'zod'
import type { Database, Trx } from '#control-plane/db/database.ts'
import type { FigureRow } from '#control-plane/db/market-figures.ts'
import {
  areFiguresSummed,
  listFigures,
  listMarketRows,
  listOfferSpeeds,
  listTrades,
} from '#control-plane/db/market-figures.ts'
import { DAY, HOUR, periodStart } from '#shared/clock.ts'
import type { MarketRow } from '#shared/contract/snapshot.ts'
import { MarketRowSchema } from '#shared/contract/snapshot.ts'
import { readSketch, sketchQuantile } from '#shared/sketch.ts'
import { answeredPct, cacheHitPct, combine, discountPct, MIN_SAMPLES, speedOf, uptimePct } from './market-sums.ts'

type NewMarketRow = z.input<typeof MarketRowSchema>

/** Smallest discount change that counts, in percentage points. */
const FLAT_POINTS = 0.1
/** Offers whose speeds differ by less than this factor count as equally fast and share the calls. */
const SPEED_CLASS = 1.25

/** The beginning of the window of 24 hours that ends with the running hour. */
export function dayBefore(now: number): number {
  return periodStart(now, DAY)
}

/** The rows of models at an instant, in the given order. A model without one gets an empty row. */
export async function readMarketRows(db: Database | Trx, models: readonly string[], now: number): Promise<MarketRow[]> {
  return (await readRowBodies(db, models, now)).map((body) => MarketRowSchema.parse(body))
}

/** The rows in the form of the published document. Counts are unknown while the day has calls that are not summed. */
export async function readRowBodies(
  db: Database | Trx,
  models: readonly string[],
  now: number,
): Promise<NewMarketRow[]> {
  const stored = new Map((await listMarketRows(db, models)).map((row) => [row.model, NewRowSchema.parse(row.body)]))
  const unknown = (await isDaySummed(db, now)) ? {} : { requests24h: null, volume24hMicro: null }
  return models.map((model) => ({ ...(stored.get(model) ?? emptyRow(model)), ...unknown }))
}

/**
 * The sales of models' offers over the day, as published texts by model. Null while the day has calls that are not
 * summed.
 */
export async function readTradesTexts(
  db: Database | Trx,
  now: number,
  models?: readonly string[],
): Promise<ReadonlyMap<string, string> | null> {
  return (await isDaySummed(db, now)) ? listTrades(db, dayBefore(now), models) : null
}

function isDaySummed(db: Database | Trx, now: number): Promise<boolean> {
  return areFiguresSummed(db, 'hour', { from: dayBefore(now), to: now + HOUR })
}

function emptyRow(model: string): NewMarketRow {
  return marketRow(model, [], { from: 0, now: 0 })
}

/** Rows are stored in their published form, so the contract's schema checks them. */
const NewRowSchema = z.custom<NewMarketRow>((body) => MarketRowSchema.safeParse(body).success)

/**
 * Computes one row of figures for each model over the 24 hours that end with the running hour. A figure from too few
 * calls is null, and counts are zero.
 */
export async function computeMarketRows(
  db: Database | Trx,
  now: number,
  models: readonly string[],
): Promise<NewMarketRow[]> {
  const from = dayBefore(now)
  const level = { model: 'each', provider: 'each' } as const
  // The day before is read only for its discount.
  const before = listFigures(db, 'hour', { from: from - DAY, to: from, models, level, isBare: true })
  const rows = [...(await before), ...(await listFigures(db, 'hour', { from, to: now + HOUR, models, level }))]
  const byModel = groupBy(rows, (row) => row.model)
  return models.map((model) => marketRow(model, byModel.get(model) ?? [], { from, now }))
}

type Window = { readonly from: number; readonly now: number }

function marketRow(model: string, rows: readonly FigureRow[], window: Window): NewMarketRow {
  const isToday = (row: FigureRow) => row.startsAt.getTime() >= window.from
  const today = rows.filter(isToday)
  const all = combine(today)
  const providers = groupBy(
    today.filter((row) => row.provider !== ''),
    (row) => row.provider,
  )
  return {
    model,
    ...speedOf(all),
    uptimePct: answeredPct(all),
    cacheHitRatePct: cacheHitPct(all),
    requests24h: all.calls,
    volume24hMicro: all.volumeMicro.toString(),
    discountTrend: trendOf(rows, window),
    providers: [...providers].sort(byName).map(([provider, hours]) => {
      const sums = combine(hours)
      return { provider, ...speedOf(sums), uptimePct: uptimePct(sums, window.now - window.from) }
    }),
  }
}

/** The discount hour by hour, and its change against the day before. */
function trendOf(rows: readonly FigureRow[], { from }: Window): NewMarketRow['discountTrend'] {
  const paidPrice = (some: readonly FigureRow[]) =>
    discountPct({
      volumeMicro: some.reduce((total, row) => total + row.volumeMicro, 0n),
      listMicro: some.reduce((total, row) => total + row.listMicro, 0n),
    })
  const current = paidPrice(rows.filter((row) => row.startsAt.getTime() >= from))
  if (current === null) return null
  const previous = paidPrice(rows.filter((row) => row.startsAt.getTime() < from)) ?? current
  const change = current - previous
  const hours = groupBy(rows, (row) => row.startsAt.getTime())
  return {
    direction: Math.abs(change) < FLAT_POINTS ? 'flat' : change > 0 ? 'up' : 'down',
    currentDiscountPct: current,
    previousDiscountPct: previous,
    buckets: Array.from({ length: 24 }, (_, index) => {
      const bucket = from + index * HOUR
      return { bucket, discountPct: paidPrice(hours.get(bucket) ?? []) }
    }),
  }
}

/**
 * The speed class of each measured offer of some models over the last day: milliseconds to the first token, rounded up
 * coarsely so that it seldom changes.
 */
export async function readSpeedClasses(
  db: Database | Trx,
  models: readonly string[],
  now: number,
): Promise<ReadonlyMap<string, number>> {
  const classes = new Map<string, number>()
  const window = { from: dayBefore(now), minSamples: MIN_SAMPLES }
  for (const { offer, sketch } of await listOfferSpeeds(db, models, window)) {
    const median = Math.max(1, sketchQuantile(readSketch(sketch), 0.5) ?? 1)
    classes.set(offer, Math.round(SPEED_CLASS ** Math.ceil(Math.log(median) / Math.log(SPEED_CLASS))))
  }
  return classes
}

function byName([left]: readonly [string, unknown], [right]: readonly [string, unknown]): number {
  return left < right ? -1 : 1
}

/** Groups rows by `keyOf`, in the order of each group's first row. */
export function groupBy<Row, Key>(rows: readonly Row[], keyOf: (row: Row) => Key): Map<Key, Row[]> {
  const groups = new Map<Key, Row[]>()
  for (const row of rows) {
    const key = keyOf(row)
    const group = groups.get(key)
    if (group) group.push(row)
    else groups.set(key, [row])
  }
  return groups
}
