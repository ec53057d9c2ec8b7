import type { Demand, LentWish } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { Market } from '#data-plane/store/market.ts'
import { strictestFloor } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import type { ProtocolNeed } from '#shared/protocols/index.ts'
import { needOfEndpoint } from '#shared/protocols/index.ts'

/** A refusal repeats at most so many names. */
const MAX_NAMED = 50

/** The wishes of a call about its offers. The sets are built once. */
export type Choice = {
  readonly only: ReadonlySet<string> | undefined
  /** The names of an allow-list when none of them is a provider's. */
  readonly unknown: readonly string[] | undefined
  readonly blocked: ReadonlySet<string> | undefined
  /** Providers whose host does not run the endpoint; undefined where every host does. */
  readonly unable: ReadonlySet<string> | undefined
  readonly order: ReadonlyMap<string, number> | undefined
  readonly allowsUntrusted: boolean
  readonly floorPercent: number | undefined
  /** The need that a provider's protocol must meet. */
  readonly need: ProtocolNeed
  /** True where the buyer wants the first offer or none. */
  readonly isFirstOnly: boolean
  /** True where measured speed goes before price. */
  readonly isFastestFirst: boolean
  /** What the rules of lent keys are asked about; undefined for a model. */
  readonly wish: LentWish | undefined
  /** A number that picks where the walk begins among equal offers, so that they share the load. */
  readonly spread: number
}

/** Reads hints and preferences into the sets of a {@link Choice}. */
export function readChoice(market: Market, demand: Demand, payer: Payer | undefined, rid?: RequestId): Choice {
  const { hints } = demand
  const lists = hints.only.map((names) => idSet(market, [names]) ?? NONE)
  const unknownAt = lists.indexOf(NONE)
  return {
    only: lists.length === 0 ? undefined : intersect(lists),
    unknown: unknownAt < 0 ? undefined : hints.only[unknownAt],
    blocked: idSet(market, payer === undefined ? [hints.blocked] : [hints.blocked, payer.providersBlocked]),
    // A forwarded request is offered only by hosts that run its endpoint.
    unable: demand.kind === 'model' ? market.providersWithout.get(demand.endpoint) : undefined,
    order: hints.order.length === 0 ? undefined : orderOf(market, hints.order),
    // A payer without an account could not have weighed the risk, so only trusted sellers serve it.
    allowsUntrusted: payer?.account != null && (hints.allowsUntrusted ?? payer.allowsUntrusted ?? false),
    floorPercent: strictestFloor([...demand.floorPercents, ...(payer?.floorPercents ?? [])]),
    need: needOf(demand),
    isFirstOnly: hints.isFirstOnly === true,
    isFastestFirst: hints.isFastestFirst === true,
    wish: demand.kind === 'model' ? undefined : demand.wish,
    spread: rid === undefined ? 0 : spreadOf(rid),
  }
}

function needOf(demand: Demand): ProtocolNeed {
  if (demand.kind !== 'model') return 'openai'
  const { endpoint, needs } = demand
  if (needs.streamedPictures === true) return 'image-stream'
  return needs.openAiFormat === true ? 'openai' : needOfEndpoint(endpoint)
}

const NONE: ReadonlySet<string> = new Set()

/** The refusal of an allow-list without a known name. It names them and the known ones. */
export function unsupportedProvider(market: Market, names: readonly string[]): AppError {
  return new AppError('unsupported_provider', {
    message: `None of these providers is known: ${names.slice(0, MAX_NAMED).join(', ').slice(0, 1_000)}.`,
    param: 'provider',
    detail: {
      unknown_providers: names.slice(0, MAX_NAMED).map((name) => name.slice(0, 200)),
      supported_providers: market.providers.map(({ id }) => id),
    },
  })
}

function intersect(sets: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  const [first = NONE, ...rest] = sets
  return rest.length === 0 ? first : new Set([...first].filter((id) => rest.every((set) => set.has(id))))
}

/** The ids of the providers that have these names; undefined when none has. */
function idSet(market: Market, lists: readonly (readonly string[])[]): ReadonlySet<string> | undefined {
  let ids: Set<string> | undefined
  for (const names of lists) {
    for (const name of names) {
      const provider = market.findProvider(name)
      if (!provider) continue
      ids ??= new Set()
      ids.add(provider.id)
    }
  }
  return ids
}

function orderOf(market: Market, names: readonly string[]): ReadonlyMap<string, number> {
  const order = new Map<string, number>()
  for (const name of names) {
    const provider = market.findProvider(name)
    if (provider && !order.has(provider.id)) order.set(provider.id, order.size)
  }
  return order
}

const SPREAD_CHARS = 6

/** A number from the random end of a request id. Ids made in a row give numbers in a row. */
function spreadOf(rid: RequestId): number {
  let spread = 0
  for (let at = rid.length - SPREAD_CHARS; at < rid.length; at++) spread = spread * 31 + rid.charCodeAt(at)
  return spread
}
