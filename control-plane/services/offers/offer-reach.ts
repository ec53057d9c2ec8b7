import { z } from 'zod'
import { NEWEST_CALLS } from '#control-plane/db/newest-calls.ts'
import type { ServedCalls } from '#control-plane/db/offer-reach.ts'
import { listOwnPrices, sumServedCalls } from '#control-plane/db/offer-reach.ts'
import { defineOperation } from '#control-plane/operation/operation.ts'
import { ModelName } from '#control-plane/services/input-fields.ts'
import { readBook, requireModel } from '#control-plane/services/market/market-book.ts'
import { Count, UnixMs, WholeMicro } from '#control-plane/services/view-fields.ts'
import { DAY, periodStart } from '#shared/clock.ts'
import { keptToPercent, percentToKept } from '#shared/discount.ts'
import { keptBps } from '#shared/money.ts'
import { Discount } from './input.ts'

/** Most offers of a book that are compared. */
const MAX_RIVALS = 1_000
const ALL_BPS = 10_000
const MAX_PCT = 95
/** Most discounts of a curve: each whole percent, the caller's own, and the chosen one. */
export const MAX_REACHES = MAX_PCT + 3

/** Calls of the last day, had the caller sold the model at one discount. */
export const ReachSchema = z.object({
  discountPct: z.number(),
  /** Calls for which the caller's offer would have come first. */
  won: Count,
  /** Calls that offers at the same price share. The faster offer comes first. */
  shared: Count,
  /** Calls that offers with a larger discount served. */
  lost: Count,
  /** The price of the calls won at this discount, before the fee of the market. Micro-USD. */
  worthMicro: WholeMicro,
})
export type Reach = z.infer<typeof ReachSchema>

export const OfferReachSchema = z.object({
  model: z.string(),
  since: UnixMs,
  /** The largest discount of the caller's active offers, in percent. Null without one. */
  ownDiscountPct: z.number().nullable(),
  /** Available offers of others that come before the chosen discount, and all of them. */
  ahead: Count,
  rivals: Count,
  /** The reach of the chosen discount. */
  chosen: ReachSchema,
  /** The discounts at which the reach changes, the smallest first. */
  curve: z.array(ReachSchema).readonly(),
})
export type OfferReachView = z.infer<typeof OfferReachSchema>

/**
 * Returns how many calls of a model the caller would win at a discount: the chosen one, or that of the caller's best
 * offer. Throws `not_found` for an unknown model.
 */
export const getOfferReach = defineOperation({
  name: 'offer.reach',
  summary: 'Get the calls that each discount would win',
  about: 'Calls of the last day, from the newest 20,000 calls of the market.',
  access: 'seller',
  input: z.strictObject({ model: ModelName, discount: Discount.optional() }),
  limit: 'read',
  idempotency: 'none',
  output: OfferReachSchema,
  run: async (ctx, actor, { model: name, discount }): Promise<OfferReachView> => {
    const model = await requireModel(ctx, name)
    const since = periodStart(ctx.clock.now(), DAY)
    const from = { model: model.id, seller: actor.account }
    const [served, own, book] = await Promise.all([
      sumServedCalls(ctx.db, from, { since, limit: NEWEST_CALLS }),
      listOwnPrices(ctx.db, from),
      readBook(ctx, model, { count: MAX_RIVALS }),
    ])
    const ownIds = new Set(own.map(({ id }) => String(id)))
    const isTrusted = own.length === 0 || book.some(({ offer }) => ownIds.has(offer.id) && offer.isTrusted)
    const rivals = book.filter(({ offer, isAvailable }) => isAvailable && !ownIds.has(offer.id))
    const peers = rivals.filter(({ offer }) => offer.isTrusted === isTrusted).map(({ offer }) => Number(offer.keptBps))
    // Default routing uses trusted offers only: no discount brings an untrusted offer before them.
    const betters = isTrusted ? 0 : rivals.length - peers.length
    const market: Competition = {
      served,
      isTrusted,
      best: betters > 0 ? 0 : Math.min(ALL_BPS + 1, ...peers),
    }
    const [bestOwn] = own
    const ownKept = bestOwn?.keptBps ?? ALL_BPS
    const chosen = discount === undefined ? ownKept : keptOf(discount)
    return {
      model: model.id,
      since,
      ownDiscountPct: bestOwn === undefined ? null : discountOf(ownKept),
      ahead: betters + peers.filter((kept) => kept < chosen).length,
      rivals: rivals.length,
      chosen: reachAt(market, chosen),
      curve: turnsOf(served, [ownKept, chosen]).map((kept) => reachAt(market, kept)),
    }
  },
})

const keptOf = (discountPct: number) => Number(percentToKept(discountPct))
const discountOf = (kept: number) => keptToPercent(keptBps(kept))

type Competition = {
  readonly served: readonly ServedCalls[]
  /** Whether the caller's offers are at a trusted provider. */
  readonly isTrusted: boolean
  /** The smallest kept share of an offer that competes with the caller's. Over 10,000 without one. */
  readonly best: number
}

/** Sums the calls by their fate at a kept share. */
function reachAt(market: Competition, kept: number): Reach {
  const reach = { won: 0, shared: 0, lost: 0 }
  let listMicro = 0n
  for (const step of market.served) {
    const fate = fateOf(step, kept, market)
    reach[fate] += step.calls
    if (fate === 'won') listMicro += step.listMicro
  }
  const worthMicro = Number((listMicro * BigInt(kept)) / BigInt(ALL_BPS))
  return { discountPct: discountOf(kept), ...reach, worthMicro }
}

/** The caller keeps its own calls at their price or below. Above it, the best offer of others decides. */
function fateOf(step: ServedCalls, kept: number, { isTrusted, best }: Competition): 'won' | 'shared' | 'lost' {
  if (step.isOwn && kept <= step.keptBps) return 'won'
  // When a trusted offer served a call, it is unknown whether the call allowed untrusted offers.
  if (!step.isOwn && step.isTrusted && !isTrusted) return 'lost'
  const other = step.isOwn ? best : step.keptBps
  return kept < other ? 'won' : kept === other ? 'shared' : 'lost'
}

/** The kept shares at which the reach changes: a percent below each price that was paid, and `more`. */
function turnsOf(served: readonly ServedCalls[], more: readonly number[]): number[] {
  const turns = served.map(({ keptBps }) => keptOf(Math.min(Math.floor(discountOf(keptBps)) + 1, MAX_PCT)))
  return [...new Set([...turns, ...more])].sort((one, other) => other - one)
}
