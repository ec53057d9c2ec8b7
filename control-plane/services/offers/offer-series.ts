import { z } from 'zod'
import { areFiguresSummed } from '#control-plane/db/market-figures.ts'
import type { OfferBucket } from '#control-plane/db/offer-figures.ts'
import { findFirstOfferHour, listOfferBuckets } from '#control-plane/db/offer-figures.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { MIN_SAMPLES } from '#control-plane/services/market/market-sums.ts'
import { Count, UnixMs } from '#control-plane/services/view-fields.ts'
import { DAY, HOUR } from '#shared/clock.ts'
import { readSketch, sketchQuantile } from '#shared/sketch.ts'
import { OfferIdInput } from './input.ts'
import { requireOwnOffer } from './own-offer.ts'
import { SALES_FIELDS, shownMoney } from './sales.ts'

const SERIES_WINDOWS = ['24h', '7d', '30d'] as const
type SeriesWindow = (typeof SERIES_WINDOWS)[number]
/** The length of the buckets of each window and their number, the running one included. */
const BUCKETS = {
  '24h': { interval: 'hour', lengthMs: HOUR, count: 24 },
  '7d': { interval: 'day', lengthMs: DAY, count: 7 },
  '30d': { interval: 'day', lengthMs: DAY, count: 30 },
} as const satisfies Readonly<Record<SeriesWindow, object>>

/** The sales and the latency of an offer in one hour or UTC day. Gross is the fee and the net together. */
export const OfferPointSchema = z
  .object({
    bucket: UnixMs,
    ...SALES_FIELDS,
    ttftSamples: Count.describe('The calls that the median is measured from.'),
  })
  .meta({ id: 'OfferPoint', description: 'The sales and the latency of an offer in one hour or UTC day.' })

export const OfferSeriesSchema = z
  .object({
    interval: z.enum(['hour', 'day']),
    from: UnixMs.describe('The beginning of the first bucket, in Unix milliseconds.'),
    knownFrom: UnixMs.nullable().describe(
      'The instant before which the hours of offers are not kept. Null where all of them are.',
    ),
    points: z
      .array(OfferPointSchema)
      .readonly()
      .nullable()
      .describe('The buckets with calls. Null while calls of that time are not summed yet.'),
  })
  .meta({ id: 'OfferSeries', description: 'Calls, earnings and latency of an offer over time.' })
export type OfferSeries = z.infer<typeof OfferSeriesSchema>

/** Reads the sales and the latency of the caller's offer over time, from the sums of the market by hour. */
export const getOfferSeries = defineOperation({
  name: 'offer.series',
  summary: 'Get the calls, earnings and latency of an offer over time',
  about: 'The last 24 hours by hour, or the last 7 or 30 UTC days by day. A bucket without a call is left out.',
  example: { window: '7d' },
  access: 'seller',
  input: OfferIdInput.extend({ window: z.enum(SERIES_WINDOWS).default('24h') }),
  limit: 'read',
  idempotency: 'none',
  output: OfferSeriesSchema,
  run: async (ctx, actor, { id, window }): Promise<OfferSeries> => {
    const offer = await requireOwnOffer(ctx, actor.account, id)
    const { interval, lengthMs, count } = BUCKETS[window]
    const now = ctx.clock.now()
    const from = Math.floor(now / lengthMs) * lengthMs - (count - 1) * lengthMs
    const [isSummed, first, buckets] = await Promise.all([
      areFiguresSummed(ctx.db, 'hour', { from, to: now }),
      findFirstOfferHour(ctx.db),
      listOfferBuckets(ctx.db, offer.id, { grain: interval, from }),
    ])
    return { interval, from, knownFrom: first?.getTime() ?? null, points: isSummed ? buckets.map(pointOf) : null }
  },
})

function pointOf(bucket: OfferBucket): z.infer<typeof OfferPointSchema> {
  const { startMs, calls, ttftSamples, ttftSketch } = bucket
  const median = ttftSamples < MIN_SAMPLES ? undefined : sketchQuantile(readSketch(ttftSketch), 0.5)
  return {
    bucket: startMs,
    calls,
    ...shownMoney(bucket),
    ttftP50Ms: median === undefined ? null : Math.round(median),
    ttftSamples,
  }
}
