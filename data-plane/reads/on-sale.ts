import type { MarketOffer } from '#data-plane/call.ts'
import type { Market } from '#data-plane/store/market.ts'
import { AppError } from '#shared/errors.ts'
import type { OfferId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { BookOffer, LiveState, MarketParts } from '#shared/market-view.ts'
import type { MicroUsd } from '#shared/money.ts'
import type { ReadSources } from './read.ts'

/** The market of one model, with the offers as the data plane routes to them. Only an order book reads their trades. */
export type OnSale = MarketParts & { readonly offers: readonly MarketOffer[] }

/** Finds the market of a model under any of its names, even without offers. Throws AppError `not_found`. */
export function findParts(market: Market, name: string): OnSale {
  const model = market.resolve(name)
  if (!model) throw new AppError('not_found', { message: 'The model does not exist.' })
  const parts = partsOf(market, model.id)
  return (
    parts ?? {
      model,
      unitPrices: market.prices.get(model.id)?.unitPrices ?? {},
      row: undefined,
      offers: [],
      trades: null,
    }
  )
}

/** The market of a model by its id; undefined when nothing is on sale. */
export function partsOf(market: Market, id: string): OnSale | undefined {
  const offers = market.offers.get(id)?.inBookOrder()
  const model = market.resolve(id)
  const price = market.prices.get(id)
  if (!offers || offers.length === 0 || !model || !price) return undefined
  return {
    model,
    unitPrices: price.unitPrices,
    overrides: price.overrides,
    minimums: price.minimums,
    row: market.rowByModel.get(id),
    offers,
    trades: null,
  }
}

/** The live state of one read, with the backed-off offers and the requested caps. */
export type LiveReading = LiveState & {
  readonly blocked: ReadonlySet<string>
  readonly usedMicro: ReadonlyMap<OfferId, MicroUsd>
}

/** Live health and caps of some models' offers. Caps are read for the best capped offers of each model. */
export async function liveState(
  { health, caps, clock }: Pick<ReadSources, 'health' | 'caps' | 'clock'>,
  books: readonly (readonly MarketOffer[])[],
  capsOfEach: number,
): Promise<LiveReading> {
  const now = clock.now()
  const usedMicro = await caps.usedToday(books.flatMap((offers) => cappedOffers(offers, capsOfEach)))
  const blocked = new Set<string>()
  if (!health.isAllWell()) {
    for (const offer of books.flat()) if (health.blockedUntil(offer, now) > now) blocked.add(offer.id)
  }
  const idOf = (offer: BookOffer): OfferId | undefined => (isId('ofr', offer.id) ? offer.id : undefined)
  return {
    blocked,
    usedMicro,
    isHealthy: (offer) => !blocked.has(offer.id),
    usedToday: (offer) => {
      const id = idOf(offer)
      return id === undefined ? undefined : usedMicro.get(id)
    },
  }
}

function cappedOffers(offers: readonly MarketOffer[], limit: number): OfferId[] {
  const offerIds: OfferId[] = []
  for (const offer of offers) {
    if (offer.capDailyMicro !== null) offerIds.push(offer.id)
    if (offerIds.length >= limit) break
  }
  return offerIds
}
