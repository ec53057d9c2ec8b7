import type { Demand, MarketOffer } from '#data-plane/call.ts'
import { readChoice } from '#data-plane/pipeline/plan/routing-choice.ts'
import { selectOffers } from '#data-plane/pipeline/plan/select-offers.ts'
import { buildMarket, EMPTY_BODIES, rankOffers } from '#data-plane/store/market.ts'
import { createSpentCaps } from '#data-plane/store/spent-caps.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import { keptBps, microUsd, parseUnitPrice } from '#shared/money.ts'
import { createOfferBook } from '#shared/routing/offer-book.ts'
import {
  buildDemand,
  buildModel,
  buildOffer,
  buildPayer,
  buildProvider,
  NO_RATES,
} from '#test/support/bytes/build-market.ts'

const SIZES = [10, 1_000, 10_000]
const ROUNDS = 1_000
const BATCHES = 10
const WARM_UP = 500
const PROVIDERS = 20

const model = buildModel({ id: 'bench' })

function offer(index: number, count: number): OfferRow {
  return buildOffer({
    id: `ofr_${index.toString().padStart(6, '0')}`,
    model: model.id,
    provider: `provider-${index % PROVIDERS}`,
    // Every second provider is not trusted, so that the walk skips offers.
    isTrusted: index % 2 === 0,
    keptBps: keptBps(1_000 + Math.floor((index * 8_000) / count)),
    capDailyMicro: microUsd(1_000_000n),
  })
}

/**
 * Microseconds to choose among this many offers: without a hint, and with every hint set so that most offers are
 * skipped.
 */
export function measureSelection(): { what: string; figure: string; beside: string }[] {
  return SIZES.map((size) => {
    const plain = time(size, buildDemand({ model: model.id }))
    const hinted = time(
      size,
      buildDemand({
        model: model.id,
        hints: {
          only: [['provider-2', 'provider-4', 'provider-6', 'provider-8']],
          blocked: ['provider-4'],
          order: ['provider-8'],
          allowsUntrusted: undefined,
        },
        floorPercents: [20],
      }),
    )
    return {
      what: `selection among ${size.toLocaleString('en')} offers`,
      figure: `${plain.toFixed(2)} µs`,
      beside: `${hinted.toFixed(2)} µs with every hint`,
    }
  })
}

/** Times one choice from the read hints to the ranked offers. A few offers have failed before. */
function time(size: number, demand: Demand): number {
  const offers = rankOffers(Array.from({ length: size }, (_, index) => offer(index, size)))
  const market = buildMarket({
    ...EMPTY_BODIES,
    models: [model],
    providers: Array.from({ length: PROVIDERS }, (_, index) => buildProvider(`provider-${index}`)),
    prices: new Map([[model.id, { version: '1', unitPrices: { input: parseUnitPrice('0.000001') } }]]),
    offers: new Map([[model.id, createOfferBook(offers)]]),
  })
  const price = market.prices.get(model.id) ?? { version: '1', unitPrices: {} }
  const { id } = model
  const target = { kind: 'model' as const, id, listing: id, requested: id, price, model, endpoint: 'chat' as const }
  const failed = new Map(offers.filter((_, at) => at % 50 === 0).map(({ id }) => [id, 0]))
  const ports = {
    market,
    health: { isAllWell: () => false, blockedUntil: ({ id }: MarketOffer) => failed.get(id) ?? 0 },
    caps: createSpentCaps(),
    rates: NO_RATES,
    now: 0,
  }
  const payer = buildPayer()
  const rounds = (count: number) => {
    for (let round = 0; round < count; round++) selectOffers(ports, target, readChoice(market, demand, payer))
  }
  rounds(WARM_UP)
  // The best of several batches counts, so that other work of the machine does not.
  let best = Number.POSITIVE_INFINITY
  for (let batch = 0; batch < BATCHES; batch++) {
    const start = performance.now()
    rounds(ROUNDS)
    best = Math.min(best, ((performance.now() - start) * 1_000) / ROUNDS)
  }
  return best
}
