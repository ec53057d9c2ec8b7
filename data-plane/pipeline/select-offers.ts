import type { Demand, Offer, Payer, Target } from '#data-plane/call.ts'
import type { HealthStore } from '#data-plane/store/health.ts'
import type { Market } from '#data-plane/store/market.ts'
import type { SpentCaps } from '#data-plane/store/spent-caps.ts'
import { isImageCapable } from '#shared/catalog/model.ts'
import { keptToPercent, meetsFloor, strictestFloor } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import type { KeptBps } from '#shared/money.ts'
import { capRefusal } from './refuse-caps.ts'

/** Offers that failover may use: more than the attempts, because one whose cap is spent costs no attempt. */
export const MAX_CANDIDATES = 6

/** The filters in their order; an offer's reason is the first that refuses it. */
export const FILTERS = ['capability', 'provider', 'blocked', 'trusted', 'discount', 'cap', 'health'] as const

const ELIGIBLE = FILTERS.length
const MAX_NAMED = 50
const MAX_EXPLAINED = 20

/** The offers a call may use, in order, never empty; and why others were passed over before them. */
export type RankedOffers = {
  readonly candidates: readonly Offer[]
  readonly excluded: readonly { readonly offer: string; readonly reason: string }[]
}

/** What of a call decides over offers, with the sets built once. */
export type Choice = {
  readonly only: ReadonlySet<string> | undefined
  readonly blocked: ReadonlySet<string> | undefined
  readonly order: ReadonlyMap<string, number> | undefined
  readonly allowsUntrusted: boolean
  readonly floorPercent: number | undefined
  /** True where the messages protocol cannot say what is asked: it knows conversations and nothing else. */
  readonly isOpenAiOnly: boolean
}

export type SelectionPorts = {
  readonly market: Market
  readonly health: Pick<HealthStore, 'blockedUntil' | 'isAllWell'>
  readonly caps: SpentCaps
  readonly now: number
}

/**
 * Filters and orders a model's offers. Offers stand in price order already, so the walk ends as soon as enough have
 * passed: what it costs does not grow with the market, unless the buyer gave an order of his own. Throws the refusal of
 * the filter that left none.
 */
export function selectOffers(ports: SelectionPorts, target: Target, choice: Choice): RankedOffers {
  const { model } = target
  const offers = model.endpoints.includes(target.endpoint) ? (ports.market.offers.get(model.id) ?? []) : []
  const candidates: Offer[] = []
  const excluded: { offer: string; reason: string }[] = []
  let furthest = 0
  for (const offer of offers) {
    const stage = stageOf(ports, choice, offer)
    if (stage > furthest) furthest = stage
    if (stage === ELIGIBLE) {
      candidates.push(offer)
      if (candidates.length === MAX_CANDIDATES && choice.order === undefined) break
    } else if (excluded.length < MAX_EXPLAINED) {
      excluded.push({ offer: offer.id, reason: FILTERS[stage] ?? '' })
    }
  }
  if (candidates.length === 0) throw refusal(ports, choice, { target, offers, furthest })
  const { order } = choice
  if (order !== undefined) {
    const rank = (offer: Offer) => order.get(offer.provider) ?? order.size
    candidates.sort((left, right) => rank(left) - rank(right))
    candidates.length = Math.min(candidates.length, MAX_CANDIDATES)
  }
  return { candidates, excluded }
}

/** The index of the first filter that refuses an offer, or {@link ELIGIBLE}. */
function stageOf({ health, caps, now }: SelectionPorts, choice: Choice, offer: Offer): number {
  if (choice.isOpenAiOnly && offer.apiFormat !== 'openai') return 0
  const isDown = !health.isAllWell() && health.blockedUntil(offer, now) > 0
  // A named provider must have an active healthy offer: one that is down does not count as found.
  if (choice.only !== undefined && (isDown || !choice.only.has(offer.provider))) return 1
  if (choice.blocked?.has(offer.provider)) return 2
  if (!offer.isTrusted && !choice.allowsUntrusted) return 3
  if (choice.floorPercent !== undefined && !meetsFloor(offer.keptBps, choice.floorPercent)) return 4
  if (offer.capDailyMicro !== null && caps.isSpent(offer.id, now)) return 5
  return isDown ? 6 : ELIGIBLE
}

/** Reads hints and preferences into the sets of a {@link Choice}. Throws `unsupported_provider`. */
export function readChoice(market: Market, demand: Demand, payer: Payer): Choice {
  const { hints } = demand
  return {
    only: hints.only.length === 0 ? undefined : intersect(hints.only.map((names) => findAll(market, names))),
    blocked: idSet(market, [hints.blocked, payer.providersBlocked]),
    order: hints.order.length === 0 ? undefined : orderOf(market, hints.order),
    allowsUntrusted: hints.allowsUntrusted ?? payer.allowsUntrusted ?? false,
    floorPercent: strictestFloor([...demand.floorPercents, ...payer.floorPercents]),
    isOpenAiOnly: demand.needs.openAiFormat === true || demand.endpoint !== 'chat',
  }
}

function findAll(market: Market, names: readonly string[]): ReadonlySet<string> {
  const ids = new Set<string>()
  for (const name of names) {
    const provider = market.findProvider(name)
    if (provider) ids.add(provider.id)
  }
  if (ids.size === 0 && names.length > 0) {
    throw new AppError('unsupported_provider', {
      message: `None of these providers is known: ${names.slice(0, MAX_NAMED).join(', ').slice(0, 1_000)}.`,
      param: 'provider',
      detail: {
        unknown_providers: names.slice(0, MAX_NAMED).map((name) => name.slice(0, 200)),
        supported_providers: market.providers.map(({ id }) => id),
      },
    })
  }
  return ids
}

function intersect(sets: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  const [first = new Set<string>(), ...rest] = sets
  return new Set([...first].filter((id) => rest.every((set) => set.has(id))))
}

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

type Emptied = { readonly target: Target; readonly offers: readonly Offer[]; readonly furthest: number }

/** The refusal of the filter that emptied the list: the furthest that any offer came. */
function refusal(ports: SelectionPorts, choice: Choice, { target, offers, furthest }: Emptied): AppError {
  const { now } = ports
  switch (offers.length === 0 ? 'capability' : FILTERS[furthest]) {
    case 'capability':
    case 'provider':
      return new AppError('no_sellers_for_model', { detail: { model: target.model.id } })
    case 'trusted':
      return new AppError('no_sellers_for_model', {
        message: 'No trusted seller is available for the model; allow_untrusted would admit others.',
        detail: { model: target.model.id, detail: { untrusted_available: true } },
      })
    case 'discount':
      return discountRefusal(ports, choice, offers)
    case 'cap':
      return capRefusal(offers, ports.caps, now, 'Every seller of the model has spent its daily cap.')
    case 'health': {
      const recovery = Math.min(
        ...offers.map((offer) => ports.health.blockedUntil(offer, now) || Number.POSITIVE_INFINITY),
      )
      return new AppError('no_healthy_sellers', {
        detail: { limit_source: 'seller_health', limit_scope: 'offer', resets_at: Math.ceil(recovery / 1_000) },
        retryAfterSeconds: (recovery - now) / 1_000,
      })
    }
    default:
      return new AppError('no_healthy_sellers', {
        message: 'The list of blocked providers leaves no seller.',
        detail: { limit_source: 'providers_blocked', limit_scope: 'call', resets_at: null },
      })
  }
}

function discountRefusal(ports: SelectionPorts, choice: Choice, offers: readonly Offer[]): AppError {
  let best: KeptBps | undefined
  for (const offer of offers) {
    const isOtherwiseEligible = stageOf(ports, { ...choice, floorPercent: undefined }, offer) === ELIGIBLE
    if (isOtherwiseEligible && (best === undefined || offer.keptBps < best)) best = offer.keptBps
  }
  const percent = best === undefined ? null : keptToPercent(best)
  return new AppError('minimum_discount_not_met', {
    message: `No offer is at least ${choice.floorPercent}% off; the best available discount is ${percent ?? 0}%.`,
    detail: {
      best_discount_pct: percent,
      min_discount_pct: choice.floorPercent,
      limit_source: 'min_discount',
      limit_scope: 'call',
      resets_at: null,
    },
  })
}

/** Throws `model_capability_unsupported` when the model itself cannot take what the call brings. */
export function checkCapability(target: Target, demand: Demand): void {
  const { parameters } = target.model
  const missing = demand.needs.parameters?.find((name) => parameters.length > 0 && !parameters.includes(name))
  if (missing !== undefined) {
    throw new AppError('model_capability_unsupported', {
      message: `${target.model.id} does not take ${missing}.`,
      param: missing,
      detail: { capability: missing },
    })
  }
  if (demand.needs.imageInput && !isImageCapable(target.model)) {
    throw new AppError('model_capability_unsupported', {
      message: `${target.model.id} does not take images.`,
      param: 'messages',
      detail: { capability: 'vision' },
    })
  }
}
