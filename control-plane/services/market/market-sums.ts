import { z } from 'zod'
import type { Counted, MediaCounts } from '#control-plane/db/market-figures.ts'
import { Count } from '#control-plane/services/view-fields.ts'
import { HOUR } from '#shared/clock.ts'
import type { Sketch } from '#shared/sketch.ts'
import { mergeStored, sketchQuantile, writeSketch } from '#shared/sketch.ts'

/** Below this number of calls a figure is null. The sample count beside it shows why. */
export const MIN_SAMPLES = 5

/** Several rows merged into one, with sums added and sketches merged. */
export type Combined = Omit<Counted, 'ttftSketch' | 'tpsSketch' | 'ttftP50Ms' | 'tpsP50'> & {
  readonly ttft: Sketch
  readonly tps: Sketch
}

/** The sums of a row without its speeds. */
export type Sums = Omit<Counted, 'ttftSketch' | 'tpsSketch' | 'ttftP50Ms' | 'tpsP50'>

type Counting = Omit<Counted, 'ttftP50Ms' | 'tpsP50'> & { readonly startsAt: Date }

/** Merges rows. */
export function combine(rows: readonly Counting[]): Combined {
  const sum = (read: (row: Sums) => number) => rows.reduce((total, row) => total + read(row), 0)
  const total = (read: (row: Sums) => bigint) => rows.reduce((amount, row) => amount + read(row), 0n)
  const keptShares = rows.flatMap((row) => (row.minKeptBps === null ? [] : [row.minKeptBps]))
  return {
    calls: sum((row) => row.calls),
    answered: sum((row) => row.answered),
    unanswered: sum((row) => row.unanswered),
    trades: sum((row) => row.trades),
    volumeMicro: total((row) => row.volumeMicro),
    listMicro: total((row) => row.listMicro),
    minKeptBps: keptShares.length === 0 ? null : Math.min(...keptShares),
    inputTokens: sum((row) => row.inputTokens),
    cacheReadTokens: sum((row) => row.cacheReadTokens),
    outputTokens: sum((row) => row.outputTokens),
    attemptsGood: sum((row) => row.attemptsGood),
    attemptsBad: sum((row) => row.attemptsBad),
    downMs: sum((row) => row.downMs),
    offers: offersOf(rows),
    ttftSamples: sum((row) => row.ttftSamples),
    tpsSamples: sum((row) => row.tpsSamples),
    media: sumMedia(rows.flatMap(({ media }) => (media === null ? [] : [media]))),
    ttft: mergeStored(rows.map((row) => row.ttftSketch)),
    tps: mergeStored(rows.map((row) => row.tpsSketch)),
  }
}

/**
 * The offers of rows. Rows of one time are of other models or providers, so each has offers of its own. Rows of
 * different times share offers, so the time with the most of them counts.
 */
function offersOf(rows: readonly Counting[]): number {
  const sums = new Map<number, number>()
  for (const { startsAt, offers } of rows) sums.set(startsAt.getTime(), (sums.get(startsAt.getTime()) ?? 0) + offers)
  return [...sums.values()].reduce((most, sum) => Math.max(most, sum), 0)
}

function sumMedia(counts: readonly MediaCounts[]): MediaCounts | null {
  const [first, ...others] = counts
  if (first === undefined) return null
  return first.map((count, at) => others.reduce((sum, other) => sum + (other[at] ?? 0), count ?? 0))
}

/** Converts combined rows for storage. */
export function storedOf({ ttft, tps, ...sums }: Combined): Counted {
  return {
    ...sums,
    ttftSketch: writeSketch(ttft),
    tpsSketch: writeSketch(tps),
    ttftP50Ms: sketchQuantile(ttft, 0.5) ?? null,
    tpsP50: sketchQuantile(tps, 0.5) ?? null,
  }
}

/** Speed as shown: medians in milliseconds and in tokens a second, null below {@link MIN_SAMPLES}. */
export const SpeedSchema = z.object({
  ttftP50Ms: z.number().nullable(),
  ttftSamples: Count,
  tpsP50: z.number().nullable(),
  tpsSamples: Count,
})
export type Speed = z.infer<typeof SpeedSchema>
/** The speed in an answer whose caller did not ask for speeds. */
export const NO_SPEED: Speed = { ttftP50Ms: null, ttftSamples: 0, tpsP50: null, tpsSamples: 0 }

/** Computes the speed of combined rows from their sketches. */
export function speedOf({ ttft, tps, ttftSamples, tpsSamples }: Combined): Speed {
  const [ttftP50Ms, tpsP50] = [sketchQuantile(ttft, 0.5) ?? null, sketchQuantile(tps, 0.5) ?? null]
  return shownSpeed({ ttftP50Ms, tpsP50, ttftSamples, tpsSamples })
}

/** Rounds medians to whole milliseconds and tenths of a token a second. Null below {@link MIN_SAMPLES}. */
export function shownSpeed({ ttftP50Ms, ttftSamples, tpsP50, tpsSamples }: Speed): Speed {
  return {
    ttftP50Ms: ttftP50Ms === null || ttftSamples < MIN_SAMPLES ? null : Math.round(ttftP50Ms),
    ttftSamples,
    tpsP50: tpsP50 === null || tpsSamples < MIN_SAMPLES ? null : Math.round(tpsP50 * 10) / 10,
    tpsSamples,
  }
}

/** The tenth and the ninetieth percentile of the calls. Null below {@link MIN_SAMPLES}. */
export const BandSchema = z.object({
  ttftP10Ms: z.number().nullable(),
  ttftP90Ms: z.number().nullable(),
  tpsP10: z.number().nullable(),
  tpsP90: z.number().nullable(),
})
export type Band = z.infer<typeof BandSchema>
export const NO_BAND: Band = { ttftP10Ms: null, ttftP90Ms: null, tpsP10: null, tpsP90: null }

type Sketched = Pick<Counted, 'ttftSketch' | 'tpsSketch' | 'ttftSamples' | 'tpsSamples'>

/** Computes the band of rows from their stored sketches. */
export function bandOf(rows: readonly Sketched[]): Band {
  const samples = (read: (row: Sketched) => number) => rows.reduce((sum, row) => sum + read(row), 0)
  const ttft =
    samples((row) => row.ttftSamples) < MIN_SAMPLES ? undefined : mergeStored(rows.map((row) => row.ttftSketch))
  const tps = samples((row) => row.tpsSamples) < MIN_SAMPLES ? undefined : mergeStored(rows.map((row) => row.tpsSketch))
  const at = (sketch: Sketch | undefined, share: number, digits: number) => {
    const value = sketch && sketchQuantile(sketch, share)
    return value === undefined ? null : Math.round(value * digits) / digits
  }
  return {
    ttftP10Ms: at(ttft, 0.1, 1),
    ttftP90Ms: at(ttft, 0.9, 1),
    tpsP10: at(tps, 0.1, 10),
    tpsP90: at(tps, 0.9, 10),
  }
}

/** The percentage of answered calls among those that a provider could have answered. */
export function answeredPct({ answered, unanswered }: Sums): number | null {
  return percent(answered, answered + unanswered, answered + unanswered)
}

/**
 * The uptime of a provider: the share of attempts that it answered, times the share of the time in which its offers
 * were not backed off. `windowMs` is the time that the row covers.
 */
export function uptimePct({ attemptsGood, attemptsBad, downMs, offers }: Sums, windowMs: number): number | null {
  const tries = attemptsGood + attemptsBad
  if (tries < MIN_SAMPLES) return null
  const up = offers === 0 ? 1 : Math.max(0, 1 - downMs / (offers * Math.max(windowMs, HOUR)))
  return round((100 * attemptsGood * up) / tries)
}

/** The percentage of input tokens that came from a prompt cache. */
export function cacheHitPct({ cacheReadTokens, inputTokens, calls }: Sums): number | null {
  return percent(cacheReadTokens, inputTokens, calls)
}

/** The average discount in percent of the reference price, weighted by volume; null without a trade. */
export function discountPct({ volumeMicro, listMicro }: Pick<Sums, 'volumeMicro' | 'listMicro'>): number | null {
  if (listMicro <= 0n) return null
  return Math.max(0, Number(((listMicro - volumeMicro) * 10_000n) / listMicro) / 100)
}

function percent(part: number, whole: number, samples: number): number | null {
  return whole === 0 || samples < MIN_SAMPLES ? null : round((100 * part) / whole)
}

/** Rounds to two decimals. */
function round(value: number): number {
  return Math.round(value * 100) / 100
}
