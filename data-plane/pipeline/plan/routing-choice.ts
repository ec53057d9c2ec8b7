import type { Demand, LentDemand } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { Market } from '#data-plane/store/market.ts'
import type { Endpoint } from '#shared/catalog/model.ts'
import { sortOfName } from '#shared/catalog/resolve.ts'
import { strictestFloor } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import type { ProtocolNeed } from '#shared/protocols/index.ts'
import { canServe, needOfEndpoint } from '#shared/protocols/index.ts'
import { providerIds, providerOrder } from '#shared/routing/named-providers.ts'
import type { RoutingRequirements } from '#shared/routing/walk-offers.ts'
import type { JudgedMember } from './costly-members.ts'
import { judgeMembers } from './costly-members.ts'

/** A call's preferences about its offers. The sets are built once. */
export type Choice = RoutingRequirements & {
  /** The names of an allow-list when none of them is a provider's. */
  readonly unknown: readonly string[] | undefined
  /** The requested endpoint; undefined for a resource. */
  readonly endpoint: Endpoint | undefined
  /** True when the buyer wants the first offer or none. */
  readonly isFirstOnly: boolean
  /** The facts of the call that the rules of lent keys check; undefined for a model. */
  readonly lentDemand: LentDemand | undefined
  /** Members that exclude sellers of the call. An offer that a member excludes is out. */
  readonly costly: readonly JudgedMember[] | undefined
}

/** Reads hints and preferences into the sets of a {@link Choice}. */
export function readChoice(market: Market, demand: Demand, payer: Payer | undefined, rid?: RequestId): Choice {
  const { hints } = demand
  const lists = hints.only.map((names) => providerIds(market.findProvider, [names]) ?? NONE)
  const unknownAt = lists.indexOf(NONE)
  return {
    only: lists.length === 0 ? undefined : intersect(lists),
    unknown: unknownAt < 0 ? undefined : hints.only[unknownAt],
    blocked: providerIds(
      market.findProvider,
      payer === undefined ? [hints.blocked] : [hints.blocked, payer.providersBlocked],
    ),
    // Only hosts that serve its endpoint offer a forwarded request.
    unable: demand.kind === 'model' ? market.providersWithout.get(demand.endpoint) : undefined,
    endpoint: demand.kind === 'model' ? demand.endpoint : undefined,
    order: hints.order.length === 0 ? undefined : providerOrder(market.findProvider, hints.order),
    // A payer without an account could not have weighed the risk, so only trusted sellers serve it.
    allowsUntrusted: payer?.account != null && (hints.allowsUntrusted ?? payer.allowsUntrusted ?? false),
    floorPercent: strictestFloor([...demand.floorPercents, ...(payer?.floorPercents ?? [])]),
    need: needOf(market, demand),
    isFirstOnly: hints.isFirstOnly === true,
    isFastestFirst: readSort(demand),
    lentDemand: demand.kind === 'model' ? undefined : demand.lentDemand,
    costly: judgeMembers(market, demand),
    spread: rid === undefined ? 0 : spreadOf(rid),
  }
}

/** True for an order by speed, from the hints or the model's name. Throws `invalid_request` for two that differ. */
function readSort(demand: Demand): boolean {
  const isFastestFirst = demand.hints.isFastestFirst
  const sortInName = demand.kind === 'model' ? sortOfName(demand.model) : undefined
  if (sortInName === undefined) return isFastestFirst === true
  const isFastest = sortInName === 'fastest'
  if (isFastestFirst === undefined || isFastestFirst === isFastest) return isFastest
  throw new AppError('invalid_request', {
    message: 'provider.sort and the end of the model’s name ask for different orders.',
    param: 'provider.sort',
  })
}

function needOf(market: Market, demand: Demand): ProtocolNeed {
  if (demand.kind !== 'model') return 'openai'
  const { endpoint, needs } = demand
  if (needs.streamedPictures === true) return 'image-stream'
  if (needs.openAiFormat === true) return 'openai'
  if (needs.searches !== undefined && isSearchSold(market, demand.model)) return 'search'
  return needs.documents === 'url' ? 'document-url' : needOfEndpoint(endpoint)
}

/** True when searches of a model have a price, and one of its sellers can run them. */
function isSearchSold(market: Market, name: string): boolean {
  const id = market.resolve(name)?.id
  if (id === undefined || market.prices.get(id)?.unitPrices.searches === undefined) return false
  return market.offers.get(id)?.ranked.some((offer) => canServe(offer, 'search')) === true
}

const NONE: ReadonlySet<string> = new Set()

function intersect(sets: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  const [first = NONE, ...rest] = sets
  return rest.length === 0 ? first : new Set([...first].filter((id) => rest.every((set) => set.has(id))))
}

const SPREAD_CHARS = 6

/** A number from the random end of a request id. Consecutive ids give consecutive numbers. */
function spreadOf(rid: RequestId): number {
  let spread = 0
  for (let at = rid.length - SPREAD_CHARS; at < rid.length; at++) spread = spread * 31 + rid.charCodeAt(at)
  return spread
}
