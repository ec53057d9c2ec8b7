import { z } from 'zod'
import type { FigureRow, MediaCounts } from '#control-plane/db/market-figures.ts'
import { areFiguresSummed, listFigures, listLatestTrades, listPriceVersions } from '#control-plane/db/market-figures.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { Instant } from '#control-plane/services/input-fields.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY, HOUR, periodStart, SECOND } from '#shared/clock.ts'
import { keptToPercent } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import { keptBps } from '#shared/money.ts'
import { UnitPricesSchema, writeUnitPrices } from '#shared/pricing.ts'
import { oneLine } from '#shared/texts.ts'
import { dayBefore, groupBy } from './market-rows.ts'
import type { Band, Sums } from './market-sums.ts'
import {
  answeredPct,
  BandSchema,
  bandOf,
  cacheHitPct,
  combine,
  discountPct,
  MIN_SAMPLES,
  NO_BAND,
  NO_SPEED,
  SpeedSchema,
  shownSpeed,
  speedOf,
  uptimePct,
} from './market-sums.ts'

/** Most buckets of one series, and most points over all its groups. */
const MAX_BUCKETS = 1_000
const MAX_POINTS = 20_000
const MAX_NAMED = 100
const MAX_TRADES = 100
/** Days of totals and of price histories, with today. */
const TOTALS_DAYS = 30

const Names = z.array(oneLine(128).min(1)).min(1).max(MAX_NAMED)
/** The stored rows that buckets are made of. Buckets of several hours are sums of hours. */
const GRAINS = { hour: 'hour', day: 'day', fit: 'hour', period: 'hour' } as const
type Grain = (typeof GRAINS)[keyof typeof GRAINS]
const LENGTH_MS = { hour: HOUR, day: DAY } as const
/** Lengths in hours from which `fit` chooses. Each divides a day. */
const FIT_HOURS = [1, 2, 3, 4, 6, 8, 12] as const
/** Share of the calls that buckets with enough calls to measure must hold. */
const FIT_SHARE = 0.9

/**
 * The lengths of a bucket. `fit` takes the shortest of 1, 2, 3, 4, 6, 8 and 12 hours at which buckets with enough calls
 * to measure hold nine tenths of the calls. `period` sums the whole time. A period of more than 1,000 hours begins with
 * a whole UTC day.
 */
export const SERIES_BUCKETS = ['hour', 'day', 'fit', 'period'] as const
const Bucket = z.enum(SERIES_BUCKETS)

const SeriesInput = z.strictObject({
  /**
   * Unix milliseconds, from the bucket that contains `from` to `to` (excluded). By default the 24 hours that end with
   * the running hour.
   */
  from: Instant.optional(),
  to: Instant.optional(),
  bucket: Bucket.default('hour'),
  /** Subjects of the lines: a line for each model, provider or pair of both. A single line when empty. */
  groupBy: z
    .array(z.enum(['model', 'provider']))
    .max(2)
    .default([]),
  models: Names.optional(),
  providers: Names.optional(),
  /** True also reads the tenth and the ninetieth percentile of the speeds. */
  withBands: z.boolean().default(false),
  /** False returns null for the speeds, which are most bytes of a stored row. */
  withSpeeds: z.boolean().default(true),
})
type SeriesChoice = Partial<z.output<typeof SeriesInput>>

/** Sold units other than tokens. */
const MediaSums = { images: Count, megapixels: z.number(), seconds: z.number(), characters: Count }

const PIXELS = 1_000_000

function mediaOf(media: MediaCounts | null) {
  const [images, pixels, characters, milliseconds] = [0, 1, 2, 3].map((at) => media?.[at] ?? 0)
  return {
    images: images ?? 0,
    megapixels: (pixels ?? 0) / PIXELS,
    seconds: (milliseconds ?? 0) / SECOND,
    characters: characters ?? 0,
  }
}

/** The figures of the bucket that begins at `bucket` (Unix milliseconds, UTC). Null means too few calls to measure. */
export const SeriesPointSchema = SpeedSchema.extend({
  /** Null without `withBands`. */
  ...BandSchema.shape,
  bucket: UnixMs,
  /** The length of the bucket. */
  hours: Count,
  /** Null unless the series is grouped by model, and `provider` unless it is grouped by provider. */
  model: z.string().nullable(),
  provider: z.string().nullable(),
  calls: Count,
  trades: z.number(),
  volumeMicro: z.bigint(),
  /** The cost of the same sales at reference prices. */
  listMicro: z.bigint(),
  inputTokens: Count,
  cacheReadTokens: Count,
  outputTokens: Count,
  ...MediaSums,
  /**
   * Share of the answered calls in the calls that a provider could have answered. In a series by provider: the share of
   * its answered attempts, times the share of the time in which its offers were not backed off.
   */
  uptimePct: z.number().nullable(),
  /** Number of calls on which `uptimePct` is based. In a series by provider, the number of its attempts. */
  uptimeBase: Count,
  cacheHitRatePct: z.number().nullable(),
  /** The average discount weighted by volume, and the best discount that a buyer got. */
  discountPct: z.number().nullable(),
  bestDiscountPct: z.number().nullable(),
})
export type SeriesPoint = z.infer<typeof SeriesPointSchema>

/** Lists figures of the market over time. Null while calls of that time are not summed yet. */
export const marketSeries = defineOperation({
  name: 'market.series',
  summary: 'List figures of the market over time, oldest first',
  about: 'A bucket without a call has no point. Null until the calls of that time are summed.',
  access: 'public',
  input: SeriesInput,
  limit: 'read',
  idempotency: 'none',
  output: z.array(SeriesPointSchema).readonly().nullable(),
  run: async (ctx, _actor, input): Promise<readonly SeriesPoint[] | null> =>
    (await isSummed(ctx, input)) ? readSeries(ctx, input) : null,
})

/** The sums of the market since an instant. `savedMicro` is the difference to reference prices. */
export const MarketTotalsSchema = z.object({
  since: UnixMs,
  calls: Count,
  trades: Count,
  volumeMicro: z.bigint(),
  listMicro: z.bigint(),
  savedMicro: z.bigint(),
})
export type MarketTotals = z.infer<typeof MarketTotalsSchema>

/** Sums up the whole market, by default of the last 30 UTC days. Null while calls of that time are not summed yet. */
export const marketTotals = defineOperation({
  name: 'market.totals',
  summary: 'Get the totals of the market',
  about:
    'The last 30 UTC days by default, today included; at most 41 days. Null until the calls of that time are summed.',
  access: 'public',
  input: z.strictObject({ from: Instant.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: MarketTotalsSchema.nullable(),
  run: async (
    ctx,
    _actor,
    { from = periodStart(ctx.clock.now(), TOTALS_DAYS * DAY) },
  ): Promise<MarketTotals | null> => {
    if (!(await isSummed(ctx, { from }))) return null
    // Hours hold the calls of the last minute, days do not.
    const points = await readSeries(ctx, { from, bucket: 'hour' })
    const total = (read: (point: SeriesPoint) => bigint) => points.reduce((sum, point) => sum + read(point), 0n)
    const volumeMicro = total((point) => point.volumeMicro)
    const listMicro = total((point) => point.listMicro)
    return {
      since: Math.floor(from / HOUR) * HOUR,
      calls: points.reduce((sum, { calls }) => sum + calls, 0),
      trades: points.reduce((sum, { trades }) => sum + trades, 0),
      volumeMicro,
      listMicro,
      savedMicro: listMicro > volumeMicro ? listMicro - volumeMicro : 0n,
    }
  },
})

/** The points of a series by time. A bucket without calls has none. Throws `invalid_request`. */
export async function readSeries(ctx: Pick<Ctx, 'db' | 'clock'>, choice: SeriesChoice): Promise<SeriesPoint[]> {
  const { bucket = 'hour', groupBy: by = [], models, providers, withBands = false, withSpeeds = true } = choice
  const now = ctx.clock.now()
  const span = spanOf(now, choice)
  const level = {
    model: by.includes('model') || models !== undefined ? 'each' : 'all',
    provider: by.includes('provider') || providers !== undefined ? 'each' : 'all',
  } as const
  // A point of a single row uses the stored medians, so no sketches are read.
  const isBareAt = (grain: Grain) =>
    !withSpeeds ||
    (!withBands &&
      bucket === grain &&
      (level.model === 'all' || by.includes('model') || models?.length === 1) &&
      (level.provider === 'all' || by.includes('provider') || providers?.length === 1))
  const rows: FigureRow[] = []
  for (const { grain, ...part } of partsOf(bucket, span, now)) {
    rows.push(...(await listFigures(ctx.db, grain, { ...part, models, providers, level, isBare: isBareAt(grain) })))
  }
  // A call without an answer belongs to no provider.
  const countedRows = level.provider === 'each' ? rows.filter((row) => row.provider !== '') : rows
  const scale = scaleOf(bucket, span, now, (length) => wellCountedShare(countedRows, by, length))
  const groups = [...groupBy(countedRows, (row) => `${scale.startOf(row)}\n${nameOf(row, by).join('\n')}`).values()]
  if (groups.length > MAX_POINTS) {
    throw new AppError('invalid_request', {
      message: `A series must have at most ${MAX_POINTS} points.`,
      param: 'from',
    })
  }
  return groups.map((group) => {
    const point = pointOf(group, by, scale)
    return { ...(withSpeeds ? point : { ...point, ...NO_SPEED }), ...(withBands ? bandOf(group) : NO_BAND) }
  })
}

type Span = { readonly from: number; readonly to: number }

/** The buckets of a series. `lengthMs` is the time that a bucket covers, up to now. */
type Scale = { readonly hours: number; readonly lengthMs: number; readonly startOf: (row: FigureRow) => number }

function scaleOf(
  bucket: (typeof SERIES_BUCKETS)[number],
  span: Span,
  now: number,
  shareAt: (scale: Scale) => number,
): Scale {
  if (bucket === 'period') {
    const lengthMs = Math.min(span.to, now) - span.from
    return { hours: Math.ceil((span.to - span.from) / HOUR), lengthMs, startOf: () => span.from }
  }
  if (bucket !== 'fit') {
    const lengthMs = LENGTH_MS[bucket]
    return {
      hours: lengthMs / HOUR,
      lengthMs,
      startOf: (row) => Math.floor(row.startsAt.getTime() / lengthMs) * lengthMs,
    }
  }
  // The last bucket ends with the last hour, so that it is as long as the others.
  const end = Math.ceil(span.to / HOUR) * HOUR
  const scales = FIT_HOURS.map((hours): Scale => {
    const lengthMs = hours * HOUR
    return {
      hours,
      lengthMs,
      startOf: ({ startsAt }) => end - Math.ceil((end - startsAt.getTime()) / lengthMs) * lengthMs,
    }
  })
  const fitting = scales.find((scale) => shareAt(scale) >= FIT_SHARE) ?? scales.at(-1)
  if (fitting === undefined) throw new Error('no length of a bucket to choose from')
  return fitting
}

/** The share of the calls or attempts in buckets with enough of them to measure. 1 without any call. */
function wellCountedShare(rows: readonly FigureRow[], by: GroupBy, { startOf }: Scale): number {
  const groups = [...groupBy(rows, (row) => `${startOf(row)}\n${nameOf(row, by).join('\n')}`).values()]
  const bases = groups.map((group) => group.reduce((sum, row) => sum + uptimeBase(row, by), 0))
  const total = bases.reduce((sum, base) => sum + base, 0)
  const counted = bases.reduce((sum, base) => sum + (base < MIN_SAMPLES ? 0 : base), 0)
  return total === 0 ? 1 : counted / total
}

/** False while calls of the chosen time are not summed yet. */
export async function isSummed({ db, clock }: Pick<Ctx, 'db' | 'clock'>, choice: SeriesChoice): Promise<boolean> {
  const now = clock.now()
  const parts = partsOf(choice.bucket ?? 'hour', spanOf(now, choice), now)
  const known = await Promise.all(parts.map(({ grain, ...part }) => areFiguresSummed(db, grain, part)))
  return known.every((isKnown) => isKnown)
}

function spanOf(now: number, choice: Pick<SeriesChoice, 'from' | 'to' | 'bucket'>): Span {
  const { to = now, from = dayBefore(to), bucket = 'hour' } = choice
  const lengthMs = LENGTH_MS[isLongPeriod(bucket, { from, to }) ? 'day' : GRAINS[bucket]]
  const first = Math.floor(from / lengthMs) * lengthMs
  if (first > to) throw new AppError('invalid_request', { message: 'to must be after from.', param: 'to' })
  if ((to - first) / lengthMs > MAX_BUCKETS) {
    throw new AppError('invalid_request', {
      message: `A series must have at most ${MAX_BUCKETS} buckets.`,
      param: 'from',
    })
  }
  return { from: first, to }
}

/** True for a period with too many hours to read. */
function isLongPeriod(bucket: (typeof SERIES_BUCKETS)[number], { from, to }: Span): boolean {
  return bucket === 'period' && (to - Math.floor(from / HOUR) * HOUR) / HOUR > MAX_BUCKETS
}

/**
 * The stored rows that a series reads. Days and long periods read rows of days, and the hours of their last day. The
 * row of a running day misses the calls of the last minutes, and so does the row of a day that has just ended.
 */
function partsOf(
  bucket: (typeof SERIES_BUCKETS)[number],
  span: Span,
  now: number,
): readonly (Span & { readonly grain: Grain })[] {
  if (bucket !== 'day' && !isLongPeriod(bucket, span)) return [{ ...span, grain: 'hour' }]
  const lastDay = Math.floor(Math.min(span.to, now - HOUR) / DAY) * DAY
  const hoursFrom = Math.max(span.from, lastDay)
  return [
    { from: span.from, to: hoursFrom, grain: 'day' },
    { from: hoursFrom, to: span.to, grain: 'hour' },
  ]
}

type GroupBy = readonly ('model' | 'provider')[]

function nameOf(row: FigureRow, by: GroupBy): string[] {
  return [by.includes('model') ? row.model : '', by.includes('provider') ? row.provider : '']
}

function uptimeBase({ answered, unanswered, attemptsGood, attemptsBad }: Sums, by: GroupBy): number {
  return by.includes('provider') ? attemptsGood + attemptsBad : answered + unanswered
}

function pointOf(rows: readonly FigureRow[], by: GroupBy, scale: Scale): Omit<SeriesPoint, keyof Band> {
  const [first] = rows
  const sums = first !== undefined && rows.length === 1 ? first : combine(rows)
  const { calls, trades, volumeMicro, listMicro, inputTokens, cacheReadTokens, outputTokens, minKeptBps } = sums
  return {
    bucket: first === undefined ? 0 : scale.startOf(first),
    hours: scale.hours,
    model: by.includes('model') ? (first?.model ?? null) : null,
    provider: by.includes('provider') ? (first?.provider ?? null) : null,
    calls,
    trades,
    volumeMicro,
    listMicro,
    inputTokens,
    cacheReadTokens,
    outputTokens,
    ...mediaOf(sums.media),
    ...('ttft' in sums ? speedOf(sums) : shownSpeed(sums)),
    uptimePct: by.includes('provider') ? uptimePct(sums, scale.lengthMs) : answeredPct(sums),
    uptimeBase: uptimeBase(sums, by),
    cacheHitRatePct: cacheHitPct(sums),
    discountPct: discountPct(sums),
    bestDiscountPct: minKeptBps === null ? null : keptToPercent(keptBps(minKeptBps)),
  }
}

const PriceHistoryInput = z.strictObject({
  model: oneLine(128).min(1),
  from: Instant.optional(),
  to: Instant.optional(),
  bucket: Bucket.default('day'),
})

/** Buyers' payments for a model in one bucket. */
export const PaidPointSchema = SeriesPointSchema.pick({
  bucket: true,
  trades: true,
  volumeMicro: true,
  discountPct: true,
  bestDiscountPct: true,
})

/** A version of the reference prices. */
export const ReferenceVersionSchema = z.object({
  version: z.string(),
  effectiveAt: UnixMs,
  source: z.string(),
  /** Pico-USD by usage class, as decimal strings. */
  unitPrices: z.record(z.string(), z.string()),
})

/** A model's prices over time: each version of the reference, and the share of it that buyers paid. */
export const PriceHistorySchema = z.object({
  model: z.string(),
  references: z.array(ReferenceVersionSchema).readonly(),
  /** Null while calls of that time are not summed yet. */
  paid: z.array(PaidPointSchema).readonly().nullable(),
})
export type PriceHistory = z.infer<typeof PriceHistorySchema>

/** Reads the price history of one model by its canonical id, by default of the last 30 UTC days. */
export const marketPriceHistory = defineOperation({
  name: 'market.prices',
  summary: 'Get the price history of a model',
  about: 'The last 30 UTC days by default, today included.',
  access: 'public',
  input: PriceHistoryInput,
  limit: 'read',
  idempotency: 'none',
  output: PriceHistorySchema,
  run: async (
    ctx,
    _actor,
    { model, bucket, to = ctx.clock.now(), from = periodStart(to, TOTALS_DAYS * DAY) },
  ): Promise<PriceHistory> => {
    const choice: SeriesChoice = { from, to, bucket, models: [model] }
    const [references, points] = await Promise.all([
      listPriceVersions(ctx.db, model, { from, to }),
      isSummed(ctx, choice).then((isKnown) => (isKnown ? readSeries(ctx, choice) : null)),
    ])
    return {
      model,
      references: references.map(({ effectiveAt, unitPrices, ...version }) => ({
        ...version,
        effectiveAt: effectiveAt.getTime(),
        unitPrices: writeUnitPrices(UnitPricesSchema.parse(unitPrices)),
      })),
      paid: points && paidPoints(points),
    }
  },
})

function paidPoints(points: readonly SeriesPoint[]): z.infer<typeof PaidPointSchema>[] {
  const paid = points.filter(({ trades }) => trades > 0)
  return paid.map(({ bucket, trades, volumeMicro, discountPct: paidPct, bestDiscountPct }) => {
    return { bucket, trades, volumeMicro, discountPct: paidPct, bestDiscountPct }
  })
}

const FeedInput = z.strictObject({
  limit: z.number().int().min(1).max(MAX_TRADES).default(50),
  model: oneLine(128).min(1).optional(),
})

/** A charged call without buyer and seller. The instant is Unix milliseconds. */
export const TradeViewSchema = z.object({
  model: z.string(),
  inputTokens: Count,
  outputTokens: Count,
  ...MediaSums,
  chargeMicro: z.bigint(),
  createdAt: UnixMs,
})
export type TradeView = z.infer<typeof TradeViewSchema>

/** Lists the latest trades from the ledger's own rows, newest first, without buyers and sellers. */
export const marketTrades = defineOperation({
  name: 'market.trades',
  summary: 'List the latest trades, newest first',
  about: 'Trades name no buyers and no sellers.',
  access: 'public',
  input: FeedInput,
  limit: 'read',
  idempotency: 'none',
  output: z.array(TradeViewSchema).readonly(),
  run: (ctx, _actor, { limit, model }) => readTrades(ctx, limit, model),
})

export async function readTrades(ctx: Pick<Ctx, 'db'>, limit: number, model?: string): Promise<TradeView[]> {
  const trades = await listLatestTrades(ctx.db, limit, model)
  return trades.map(({ at, media, ...trade }) => ({ ...trade, ...mediaOf(media), createdAt: at.getTime() }))
}
