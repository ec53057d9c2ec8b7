import type { Market } from '#data-plane/store/market.ts'
import type { Model } from '#shared/catalog/model.ts'
import { meetsFloor, strictestFloor } from '#shared/discount.ts'
import type { BookOffer } from '#shared/market-view.ts'
import { isAvailable } from '#shared/market-view.ts'
import type { KeptBps } from '#shared/money.ts'
import { canServe, needOfEndpoint } from '#shared/protocols/index.ts'
import { liveState, partsOf } from './on-sale.ts'
import type { ReadRequest, ReadSources } from './read.ts'
import type { Availability } from './read-memory.ts'

/** Most caps that are read for a model: those of the best offers. */
const CAPS_OF_A_MODEL = 8

/** Whether calls can buy a model now: those of default routing, and those that only allow untrusted providers. */
export type ModelStanding = { readonly isAvailable: boolean; readonly isUntrustedAvailable: boolean }

/** Reads which models can be bought now. The result is made anew at most once a second, for any floor. */
export function readAvailability(sources: ReadSources): Promise<Availability> {
  const market = sources.market()
  return sources.memory.availabilityOf('models', [market], sources.clock.now(), async () => {
    const parts = market.models.flatMap(({ id }) => partsOf(market, id) ?? [])
    const books = parts.map(({ offers }) => offers)
    const live = await liveState(sources, books, CAPS_OF_A_MODEL)
    return new Map(
      parts.map(({ model, offers }) => {
        const bestOf = (isTrusted: boolean) =>
          offers.find(
            (offer) => offer.isTrusted === isTrusted && runsModel(market, model, offer) && isAvailable(offer, live),
          )?.keptBps
        return [model.id, { trusted: bestOf(true), untrusted: bestOf(false) }]
      }),
    )
  })
}

/** Whether a reader can buy a model now, at the floors of the path and of the reader's key. */
export function standingOf(
  availability: Availability,
  { id }: Model,
  { floorPercent, payer }: Pick<ReadRequest, 'floorPercent' | 'payer'>,
): ModelStanding {
  const best = availability.get(id)
  const floor = strictestFloor([floorPercent, ...(payer?.floorPercents ?? [])])
  const meets = (kept: KeptBps | undefined) => kept !== undefined && (floor === undefined || meetsFloor(kept, floor))
  const isUntrustedAvailable = meets(best?.untrusted)
  const isAvailable = meets(best?.trusted) || (payer?.allowsUntrusted === true && isUntrustedAvailable)
  return { isAvailable, isUntrustedAvailable }
}

/** The members of an entry that say whether its model can be bought. */
export function availableIn({ isAvailable, isUntrustedAvailable }: ModelStanding) {
  return { available: isAvailable, untrusted_available: isUntrustedAvailable }
}

/** True for an offer whose host and protocol serve an endpoint of the model. */
function runsModel({ providersWithout }: Market, { endpoints }: Model, offer: BookOffer): boolean {
  return endpoints.some(
    (endpoint) =>
      providersWithout.get(endpoint)?.has(offer.provider) !== true && canServe(offer, needOfEndpoint(endpoint)),
  )
}
