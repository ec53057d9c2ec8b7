import { z } from 'zod'
import { findModelByName } from '#control-plane/db/catalog.ts'
import { areFiguresSummed } from '#control-plane/db/market-figures.ts'
import type { OfferSums } from '#control-plane/db/offer-figures.ts'
import { listOfferSketches, listOfferSums } from '#control-plane/db/offer-figures.ts'
import type { Ctx } from '#control-plane/operation/ctx.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { readCursor, signCursor } from '#control-plane/services/cursor.ts'
import { ModelName, PageSize } from '#control-plane/services/input-fields.ts'
import { MIN_SAMPLES } from '#control-plane/services/market/market-sums.ts'
import { PageToken, signedPageOf, signedPageSchema } from '#control-plane/services/page.ts'
import { Count } from '#control-plane/services/view-fields.ts'
import { DAY, periodStart } from '#shared/clock.ts'
import { readSketch, sketchQuantile } from '#shared/sketch.ts'
import { SALES_FIELDS, shownMoney } from './sales.ts'

/** Most offers of a seller that are compared. A seller with more sees the newest. */
const MAX_OFFERS = 5_000
/** Most offers whose latencies an order by latency reads, those with the most calls. */
const MAX_MEDIANS = 200
const WINDOWS_MS = { '24h': DAY, '7d': 7 * DAY } as const
const OFFER_WINDOWS = ['24h', '7d'] as const
const OFFER_SORTS = ['newest', 'calls', 'gross', 'net', 'latency'] as const
type OfferSort = (typeof OFFER_SORTS)[number]

/** An offer with its figures. Gross is the fee and the net together, to the micro-USD. */
export const OfferFiguresSchema = z
  .object({
    id: z.string().describe('The id of the offer.'),
    model: z.string(),
    provider: z.string(),
    label: z.string().nullable(),
    status: z.enum(['active', 'paused', 'inactive']),
    ...SALES_FIELDS,
    ttftSamples: Count.nullable().describe('The calls that the median is measured from.'),
  })
  .meta({
    id: 'OfferFigures',
    description:
      'An offer with its calls, earnings and latency. Sums are null while calls of that time are not summed yet.',
  })
export type OfferFigures = z.infer<typeof OfferFiguresSchema>

/** `total` counts the offers of all pages. */
export const OfferFiguresPageSchema = signedPageSchema(OfferFiguresSchema).extend({ total: Count })
export type OfferFiguresPage = z.infer<typeof OfferFiguresPageSchema>

/**
 * Lists the caller's offers with the sales of each in the last 24 hours, by whole hours, or in the last 7 UTC days,
 * today included. The largest figure comes first, or the lowest in an order by latency. Offers without the figure come
 * last.
 */
export const listOfferFigures = defineOperation({
  name: 'offer.figures',
  summary: 'List own offers with their calls, earnings and latency',
  about: 'Sums of the last 24 hours, or of the last 7 UTC days, today included. The newest 5,000 offers are compared.',
  example: { window: '7d', sort: 'net', maxItems: 10 },
  access: 'seller',
  input: z.strictObject({
    window: z.enum(OFFER_WINDOWS).default('24h'),
    sort: z.enum(OFFER_SORTS).default('newest'),
    isReversed: z.boolean().default(false),
    status: z.enum(['active', 'paused', 'inactive']).optional(),
    model: ModelName.optional(),
    maxItems: PageSize,
    nextToken: PageToken.optional(),
  }),
  limit: 'read',
  idempotency: 'none',
  output: OfferFiguresPageSchema,
  run: async (ctx, actor, input): Promise<OfferFiguresPage> => {
    const { window, sort, isReversed, status, nextToken, maxItems } = input
    const model = input.model === undefined ? undefined : ((await findModelByName(ctx.db, input.model)) ?? input.model)
    const from = periodStart(ctx.clock.now(), WINDOWS_MS[window])
    const isSummed = await areFiguresSummed(ctx.db, 'hour', { from, to: ctx.clock.now() })
    const sums = await listOfferSums(ctx.db, actor.account, { status, model, from, limit: MAX_OFFERS })
    const early = sort === 'latency' ? await readMedians(ctx, mostCalled(sums), from) : NO_MEDIANS
    const places = sums
      .map((row) => ({ row, worth: isSummed ? worthOf(row, sort, early) : null }))
      .map(({ row, worth }): Place => ({ row, id: row.id, worth: worth !== null && isReversed ? -worth : worth }))
      .sort(byPlace)
    const scope = {
      list: 'offer.figures',
      tenant: actor.account,
      filters: [window, sort, isReversed, status ?? null, model ?? null],
    }
    const after = nextToken === undefined ? undefined : placeIn(readCursor(ctx, scope, nextToken))
    const rest = after === undefined ? places : places.filter((place) => byPlace(place, after) > 0)
    const rows = rest.slice(0, maxItems + 1).map(({ row }) => row)
    const medians = await readMedians(ctx, rows, from)
    const worthById = new Map<string, number | null>(rest.map(({ id, worth }) => [id, worth]))
    const page = signedPageOf(
      rows,
      maxItems,
      (row) => viewFigures(row, isSummed, medians),
      ({ id }) => signCursor(ctx, scope, `${worthById.get(id) ?? NO_WORTH}:${id}`),
    )
    return { ...page, total: places.length }
  },
})

const NO_WORTH = 'none'
type Place = { readonly row: OfferSums; readonly id: string; readonly worth: number | null }
type Medians = ReadonlyMap<string, number>
const NO_MEDIANS: Medians = new Map()

/** An offer's value in an order: the higher the better, null without the figure. */
function worthOf(row: OfferSums, sort: OfferSort, medians: Medians): number | null {
  if (sort === 'newest') return 0
  if (sort === 'calls') return row.calls
  if (sort === 'gross') return Number(row.gross)
  if (sort === 'net') return row.net === null ? null : Number(row.net)
  const median = medians.get(row.id)
  return median === undefined ? null : -median
}

/** Offers without the figure come last, and of equal ones the newest first. */
function byPlace(left: Omit<Place, 'row'>, right: Omit<Place, 'row'>): number {
  const [one, other] = [left.worth ?? Number.NEGATIVE_INFINITY, right.worth ?? Number.NEGATIVE_INFINITY]
  if (one !== other) return one > other ? -1 : 1
  if (left.id === right.id) return 0
  return left.id > right.id ? -1 : 1
}

function placeIn(position: string): Omit<Place, 'row'> {
  const [worth = NO_WORTH, id = ''] = position.split(':')
  return { id, worth: worth === NO_WORTH ? null : Number(worth) }
}

function mostCalled(sums: readonly OfferSums[]): readonly OfferSums[] {
  return [...sums].sort((left, right) => right.ttftSamples - left.ttftSamples).slice(0, MAX_MEDIANS)
}

/** The median latencies of offers with enough samples. */
async function readMedians(ctx: Pick<Ctx, 'db'>, rows: readonly OfferSums[], from: number): Promise<Medians> {
  const measured = rows.filter(({ ttftSamples }) => ttftSamples >= MIN_SAMPLES).map(({ id }) => id)
  if (measured.length === 0) return NO_MEDIANS
  const sketches = await listOfferSketches(ctx.db, measured, from)
  return new Map(sketches.map(({ offer, sketch }) => [offer, Math.round(sketchQuantile(readSketch(sketch), 0.5) ?? 0)]))
}

function viewFigures(row: OfferSums, isSummed: boolean, medians: Medians): OfferFigures {
  const { id, model, provider, label, status, calls, ttftSamples } = row
  const figures = isSummed
    ? {
        calls,
        ...shownMoney(row),
        ttftP50Ms: medians.get(id) ?? null,
        ttftSamples,
      }
    : { calls: null, grossMicro: null, feeMicro: null, netMicro: null, ttftP50Ms: null, ttftSamples: null }
  return { id, model, provider, label, status, ...figures }
}
