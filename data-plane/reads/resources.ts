import type { Market } from '#data-plane/store/market.ts'
import type { Resource } from '#shared/catalog/resources.ts'
import { RESOURCE_METHODS, TraitName } from '#shared/catalog/resources.ts'
import type { LentOffer } from '#shared/contract/lent-offers.ts'
import { soldName } from '#shared/contract/usage-event.ts'
import { keptToPercent, meetsFloor, strictestFloor } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import type { OfferId } from '#shared/ids.ts'
import { isId } from '#shared/ids.ts'
import type { MicroUsd } from '#shared/money.ts'
import { subtractToZero, ZERO } from '#shared/money.ts'
import type { RequestedCall } from '#shared/resources/why-not-served.ts'
import { MAX_REQUIRED_TRAITS, whyNotServed } from '#shared/resources/why-not-served.ts'
import { isPlainPath } from '#shared/rules/path-pattern.ts'
import type { Read, ReadSources } from './read.ts'
import type { ReadAnswer } from './read-answer.ts'

const MAX_AGE_SECONDS = 300
/** A book shows live state, so its maximum age is short. */
const BOOK_AGE_SECONDS = 5
/** Most offers of a book that are shown, best discount first. */
const MAX_BOOK = 1_000

/**
 * `GET /v1/resource/markets`: the lent resources. Figures count offers that are healthy now and meet the floor of the
 * path.
 */
export const listResourceMarkets: Read = (sources, { floorPercent }) => {
  const markets = recordsOf(sources.market()).map(({ id, kind, name, unit }) => {
    const discounts = liveOffers(sources, id, floorPercent)
      .map(({ keptBps }) => keptToPercent(keptBps))
      .sort((left, right) => right - left)
    return {
      resource_id: id,
      kind,
      display_name: name,
      unit,
      live_offers: discounts.length,
      best_discount_pct: discounts[0] ?? null,
      median_discount_pct: median(discounts),
    }
  })
  return { json: JSON.stringify({ markets }), maxAgeSeconds: MAX_AGE_SECONDS }
}

/** `GET /v1/resource/capabilities`: the calls and goods, for the scope of a listing. */
export const listResourceCapabilities: Read = ({ market, memory }) => {
  const { resources } = market()
  const json = memory.textOf('resource-capabilities', [resources], () =>
    JSON.stringify({ resources: recordsOf(market()).map(capabilitiesOf) }),
  )
  return { json, maxAgeSeconds: MAX_AGE_SECONDS }
}

/** `GET /v1/resource/traits`: the names for `X-MKT-Require`, each with its evidence. */
export const listResourceTraits: Read = (sources, { floorPercent }) => {
  const traits = new Map<string, { title: string; resources: object[] }>()
  for (const { id, traits: knownTraits } of recordsOf(sources.market())) {
    const offers = liveOffers(sources, id, floorPercent)
    for (const { name, title, shownBy } of knownTraits) {
      const trait = traits.get(name) ?? { title, resources: [] }
      const claiming = offers.filter((offer) => offer.traits.some((claim) => claim.name === name))
      const provenance = shownBy === undefined ? 'declared' : 'probed'
      trait.resources.push({ resource_id: id, provenance, live_offers: claiming.length })
      traits.set(name, trait)
    }
  }
  const listedTraits = [...traits].map(([name, trait]) => ({ name, ...trait }))
  return { json: JSON.stringify({ traits: listedTraits }), maxAgeSeconds: MAX_AGE_SECONDS }
}

/** `GET /v1/resource/market/analytics`: volume and savings of the whole market, null while they are unknown. */
export const readResourceAnalytics: Read = ({ market }) => {
  const { sold } = market()
  const rows = recordsOf(market()).map(({ id, kind }) => {
    if (sold === null) return { resource_id: id, ...UNKNOWN_FIGURES }
    const row = sold.find(({ name }) => name === soldName({ kind, id }))
    return {
      resource_id: id,
      calls_24h: row?.calls24h ?? 0,
      ...volume('24h', row?.volume24hMicro, row?.list24hMicro),
      calls_7d: row?.calls7d ?? 0,
      ...volume('7d', row?.volume7dMicro, row?.list7dMicro),
    }
  })
  return { json: JSON.stringify({ resources: rows }), maxAgeSeconds: MAX_AGE_SECONDS }
}

/**
 * `GET /v1/resource/book/{provider}`: the lent keys of a resource, best discount first, each with whether it can serve
 * the described call, and why not. It reveals no lender. Throws `not_found`.
 */
export const readResourceBook: Read = async (sources, { params, query, floorPercent }) => {
  const id = params['provider'] ?? ''
  const record = recordsOf(sources.market()).find((each) => each.id === id)
  if (record === undefined) throw new AppError('not_found', { message: 'No resource has this name.' })
  const requestedCall = readAsked(query, floorPercent)
  const offers = sources.market().lent.get(id) ?? NO_OFFERS
  const make = () => bookOf(sources, record, offers.slice(0, MAX_BOOK), requestedCall)
  // Only the plain book is requested again and again.
  if (query.size > 0 || floorPercent !== undefined) return make()
  return sources.memory.answerOf(`book ${id}`, [record, offers], sources.clock.now(), make)
}

const NO_OFFERS: readonly LentOffer[] = []

async function bookOf(
  sources: ReadSources,
  { id, kind, name, unit }: Resource,
  offers: readonly LentOffer[],
  requestedCall: RequestedCall,
): Promise<ReadAnswer> {
  const capped = offers.flatMap((offer) => (offer.capDailyMicro !== null && isId('ofr', offer.id) ? [offer.id] : []))
  const usedMicro = capped.length === 0 ? new Map<OfferId, MicroUsd>() : await sources.caps.usedToday(capped)
  const now = sources.clock.now()
  const lines = offers.map((offer, at) => bookLine(sources, offer, { rank: at + 1, usedMicro, requestedCall, now }))
  const book = { provider: id, kind, display_name: name, unit, offers: lines }
  return { json: JSON.stringify(book), maxAgeSeconds: BOOK_AGE_SECONDS }
}

function recordsOf({ resources }: Market): readonly Resource[] {
  return [...resources.values()].flatMap(({ record }) => (record.isOn ? [record] : []))
}

function liveOffers({ market, health, clock }: ReadSources, resource: string, floorPercent = 0): readonly LentOffer[] {
  const lentOffers = market().lent.get(resource) ?? NO_OFFERS
  const offers = floorPercent === 0 ? lentOffers : lentOffers.filter(({ keptBps }) => meetsFloor(keptBps, floorPercent))
  if (health.isAllWell()) return offers
  const now = clock.now()
  return offers.filter(({ id }) => health.restsUntil(id, now) === 0)
}

function median(sorted: readonly number[]): number | null {
  const half = Math.floor(sorted.length / 2)
  const upper = sorted[half]
  if (upper === undefined) return null
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? upper) + upper) / 2
}

function capabilitiesOf({ id, kind, name, unit, style, hosts, goods, routes, fences, traits, termsUrl }: Resource) {
  return {
    resource_id: id,
    kind,
    display_name: name,
    unit,
    style,
    terms_url: termsUrl,
    hosts: hosts.map(({ role, baseUrl }) => ({ role, base_url: baseUrl })),
    models: goods.map((good) => ({ id: good.id, must_queue: good.mustQueue, prices_usd: good.prices })),
    routes: routes.map((route) => ({
      id: route.id,
      title: route.title,
      kind: route.kind,
      methods: route.methods,
      host: route.host,
      path: route.path,
      rpc_methods: route.rpc === undefined ? null : Object.keys(route.rpc.methods),
    })),
    fences: fences.map(({ methods, path, reason }) => ({ methods: methods ?? null, path, reason })),
    traits: traits.map((trait) => trait.name),
  }
}

const UNKNOWN_FIGURES = {
  calls_24h: null,
  volume_24h: null,
  saved_24h: null,
  calls_7d: null,
  volume_7d: null,
  saved_7d: null,
}

function volume(window: '24h' | '7d', volumeMicro: MicroUsd = ZERO, listMicro: MicroUsd = ZERO) {
  return {
    [`volume_${window}`]: Number(volumeMicro),
    [`saved_${window}`]: Number(subtractToZero(listMicro, volumeMicro)),
  }
}

function readAsked(query: URLSearchParams, pathFloorPercent: number | undefined): RequestedCall {
  const method = query.get('method') ?? undefined
  const path = query.get('path') ?? undefined
  const floor = query.get('min_discount_pct')
  const traits = query.get('require')?.split(',') ?? []
  if (method !== undefined && !RESOURCE_METHODS.some((each) => each === method)) {
    throw new AppError('invalid_request', {
      message: `method must be ${RESOURCE_METHODS.join(', ')}.`,
      param: 'method',
    })
  }
  if (path !== undefined && !isPlainPath(path)) {
    throw new AppError('invalid_request', { message: 'path must be a plain path at the provider.', param: 'path' })
  }
  if (floor !== null && !/^(0|[1-9]\d?|100)$/.test(floor)) throw new AppError('invalid_minimum_discount')
  if (traits.length > MAX_REQUIRED_TRAITS || !traits.every((name) => TraitName.safeParse(name).success)) {
    throw new AppError('invalid_request', {
      message: 'require must name traits, separated by commas.',
      param: 'require',
    })
  }
  const floorPercent = strictestFloor([floor === null ? undefined : Number(floor), pathFloorPercent])
  return { good: query.get('model') ?? undefined, method, path, traits, floorPercent }
}

type Line = {
  readonly rank: number
  readonly usedMicro: ReadonlyMap<OfferId, MicroUsd>
  readonly requestedCall: RequestedCall
  readonly now: number
}

function bookLine({ health }: ReadSources, offer: LentOffer, { rank, usedMicro, requestedCall, now }: Line): object {
  const { id, keptBps, capDailyMicro, scope, ratePerMinute, buyerSharePct, traits } = offer
  const offerId = isId('ofr', id) ? id : undefined
  const isHealthy = health.isAllWell() || health.restsUntil(id, now) === 0
  const taken = (offerId && usedMicro.get(offerId)) ?? ZERO
  const left = capDailyMicro === null ? null : subtractToZero(capDailyMicro, taken)
  const whyNot = whyNotServed(offer, requestedCall, { isHealthy, isSpent: left === ZERO })
  return {
    id,
    rank,
    discount_pct: keptToPercent(keptBps),
    can_serve: whyNot === null,
    why_not: whyNot,
    healthy: isHealthy,
    cap_daily: numberOf(capDailyMicro),
    cap_remaining: numberOf(left),
    rate_per_minute: ratePerMinute,
    buyer_share_pct: buyerSharePct,
    models: scope.models,
    methods: scope.methods,
    paths: scope.paths,
    traits,
  }
}

function numberOf(amount: MicroUsd | null): number | null {
  return amount === null ? null : Number(amount)
}
