import { hash } from 'node:crypto'
import type { Demand, DemandBounds, MarketOffer, RawRequest, Target } from '#data-plane/call.ts'
import type { Payer } from '#data-plane/payment.ts'
import type { WarmOffers, Warmth } from '#data-plane/store/warm-offers.ts'
import type { KeptBps, MicroUsd } from '#shared/money.ts'
import { billOf, chargeShare, subtractToZero } from '#shared/money.ts'
import { unitPricesFor } from '#shared/price-list.ts'
import { unitPrice } from '#shared/pricing.ts'
import { BYTES_A_TOKEN } from '#shared/usage.ts'
import type { SelectionPorts } from './offer-filters.ts'
import { ELIGIBLE, stageOf } from './offer-filters.ts'
import type { Choice } from './routing-choice.ts'
import type { RankedOffers } from './select-offers.ts'
import { offersOf } from './select-offers.ts'

/** Bytes of a body that identify a conversation. No provider caches a prompt shorter than about a thousand tokens. */
const PREFIX_BYTES = 4_096
const MAX_SESSION_CHARS = 256

/**
 * Names the conversation of a call: by the buyer's session, or by the beginning of its body, which the next turn
 * repeats. Undefined for a stranger, for a short call without a name, and for a buyer who wants no affinity.
 */
export function conversationOf(raw: RawRequest, demand: Demand, payer: Payer | undefined): string | undefined {
  // Only models have a prompt cache.
  if (demand.kind !== 'model') return undefined
  const { hints } = demand
  const whose = payer?.account ?? payer?.wallet
  if (whose === undefined || raw.headers['x-mkt-affinity'] === 'off') return undefined
  const header = raw.headers['x-session-id']
  const session = hints.session ?? (typeof header === 'string' && header !== '' ? header : undefined)
  if (session !== undefined) return `${whose} s ${digest(session.slice(0, MAX_SESSION_CHARS))}`
  if (raw.body.length < PREFIX_BYTES) return undefined
  return `${whose} p ${digest(raw.body.subarray(0, PREFIX_BYTES))}`
}

/** Hashes the name, because it goes to other processes and must contain none of the buyer's text. */
function digest(of: string | Buffer): string {
  return hash('sha1', of, 'base64')
}

type Call = {
  readonly ports: SelectionPorts
  readonly target: Target
  readonly demand: Demand
  readonly choice: Choice
  readonly conversation: string | undefined
}

/**
 * Puts the offer whose prompt cache has the conversation first, as long as its expected total cost is the lowest. Every
 * filter applies to it, too. The buyer's own order, by name or by speed, stays as it is.
 */
export function preferWarm(warm: WarmOffers, call: Call, ranked: RankedOffers<MarketOffer>): RankedOffers<MarketOffer> {
  const { ports, target, demand, choice, conversation } = call
  if (demand.kind !== 'model' || conversation === undefined || choice.order !== undefined || choice.isFastestFirst)
    return ranked
  const warmth = warm.find(`${conversation} ${target.id}`, ports.now)
  const [cheapest] = ranked.candidates
  if (warmth === undefined || cheapest === undefined) return ranked
  const offer =
    ranked.candidates.find(({ id }) => id === warmth.offer) ??
    offersOf(ports.market, target).find(({ id }) => id === warmth.offer)
  if (offer === undefined || stageOf(ports, choice, offer) !== ELIGIBLE) return ranked
  const savingMicro = savingOf({ target, bounds: demand.bounds }, warmth, offer, cheapest)
  if (savingMicro === undefined) return ranked
  const others = ranked.candidates.filter(({ id }) => id !== offer.id)
  const candidates = choice.isFirstOnly ? [offer] : [offer, ...others].slice(0, Math.max(2, ranked.candidates.length))
  return { ...ranked, candidates, affinity: { offer: offer.id, savingMicro } }
}

type Priced = Pick<Call, 'target'> & { readonly bounds: DemandBounds }

/** The expected saving of the warm offer against the cheapest one; undefined without a saving. */
function savingOf(call: Priced, warmth: Warmth, offer: MarketOffer, cheapest: MarketOffer): MicroUsd | undefined {
  const input = Math.ceil(call.bounds.inputBytes / BYTES_A_TOKEN)
  const chance = (warmth.hits + 1) / (warmth.hits + warmth.misses + 2)
  const cached = Math.floor(chance * Math.min(input, warmth.inputTokens))
  const most = call.bounds.maxOutputTokens ?? warmth.outputTokens
  const output = Math.min(warmth.outputTokens, most)
  const cold = expectedCost(call.target, { input, cached: 0, output }, cheapest.keptBps)
  // When a read from the cache is no cheaper, no offer saves anything.
  const here = expectedCost(call.target, { input, cached: 0, output }, offer.keptBps)
  const stay = expectedCost(call.target, { input, cached, output }, offer.keptBps)
  return stay < here && stay <= cold ? subtractToZero(cold, stay) : undefined
}

type Expected = { readonly input: number; readonly cached: number; readonly output: number }

function expectedCost({ price }: Target, { input, cached, output }: Expected, keptBps: KeptBps): MicroUsd {
  const unitPrices = unitPricesFor(price, { promptTokens: input })
  const lines = [
    { units: input - cached, price: unitPrice(unitPrices, 'input') },
    { units: cached, price: unitPrice(unitPrices, 'cacheRead') },
    { units: output, price: unitPrice(unitPrices, 'output') },
  ]
  const bill = billOf(lines.flatMap(({ units, price: each }) => (each === undefined ? [] : [{ units, price: each }])))
  return chargeShare(bill, keptBps)
}
