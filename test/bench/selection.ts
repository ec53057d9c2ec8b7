import type { Choice } from '#data-plane/pipeline/select-offers.ts'
import { selectOffers } from '#data-plane/pipeline/select-offers.ts'
import { buildMarket, EMPTY_PARTS, rankOffers } from '#data-plane/store/market.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import { keptBps, microUsd, parseUnitPrice } from '#shared/money.ts'
import { buildModel, buildOffer } from '#test/support/build-market.ts'

const SIZES = [10, 1_000, 10_000]
const ROUNDS = 5_000
const WARM_UP = 500

const model = buildModel({ id: 'bench' })

function offer(index: number, count: number): OfferRow {
  return buildOffer({
    id: `ofr_${index.toString().padStart(6, '0')}`,
    model: model.id,
    provider: `provider-${index % 20}`,
    // Every second provider is not trusted: the walk has something to pass over.
    isTrusted: index % 2 === 0,
    keptBps: keptBps(1_000 + Math.floor((index * 8_000) / count)),
    capDailyMicro: microUsd(1_000_000n),
  })
}

/** Microseconds to choose among so many offers: plainly, and with every hint set so that most are passed over. */
export function measureSelection(): { what: string; figure: string; beside: string }[] {
  return SIZES.map((size) => {
    const plain = time(size, {
      only: undefined,
      blocked: undefined,
      order: undefined,
      floorPercent: undefined,
      isOpenAiOnly: false,
    })
    const hinted = time(size, {
      only: new Set(['provider-2', 'provider-4', 'provider-6', 'provider-8']),
      blocked: new Set(['provider-4']),
      order: new Map([['provider-8', 0]]),
      floorPercent: 20,
      isOpenAiOnly: false,
    })
    return {
      what: `selection among ${size.toLocaleString('en')} offers`,
      figure: `${plain.toFixed(2)} µs`,
      beside: `${hinted.toFixed(2)} µs with every hint`,
    }
  })
}

function time(size: number, hints: Omit<Choice, 'allowsUntrusted'>): number {
  const offers = rankOffers(Array.from({ length: size }, (_, index) => offer(index, size)))
  const market = buildMarket({
    ...EMPTY_PARTS,
    models: [model],
    prices: new Map([[model.id, { version: '1', unitPrices: { input: parseUnitPrice('0.000001') } }]]),
    offers: new Map([[model.id, offers]]),
  })
  const price = market.prices.get(model.id) ?? { version: '1', unitPrices: {} }
  const target = { model, price, endpoint: 'chat' as const, requestedModel: model.id }
  const ports = {
    market,
    health: { isAllWell: () => false, blockedUntil: () => 0 },
    caps: { isSpent: () => false, usedOf: () => undefined, mark: () => undefined },
    now: 0,
  }
  const choice: Choice = { ...hints, allowsUntrusted: false }
  for (let round = 0; round < WARM_UP; round++) selectOffers(ports, target, choice)
  const start = performance.now()
  for (let round = 0; round < ROUNDS; round++) selectOffers(ports, target, choice)
  return ((performance.now() - start) * 1_000) / ROUNDS
}
