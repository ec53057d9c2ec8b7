import type { MarketOffer, ModelDemand, ModelPlan, ModelTarget, Offer, RawRequest } from '#data-plane/call.ts'
import type { AccountPayer } from '#data-plane/payment.ts'
import type { SelectionPorts } from '#data-plane/pipeline/plan/offer-filters.ts'
import { buildMarket, EMPTY_BODIES, rankOffers } from '#data-plane/store/market.ts'
import { createTurnSeal } from '#data-plane/wires/turn-seal.ts'
import type { Model } from '#shared/catalog/model.ts'
import type { Provider } from '#shared/catalog/providers.ts'
import { systemClock } from '#shared/clock.ts'
import type { OfferRow } from '#shared/contract/snapshot.ts'
import { createIds } from '#shared/ids.ts'
import { keptBps, picoUsd } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import { createOfferBook } from '#shared/routing/offer-book.ts'
import { Secret } from '#shared/secret.ts'

const ids = createIds(systemClock)
const SEAL = createTurnSeal(new Secret('test'))

export function buildModel(given: Partial<Model> = {}): Model {
  return {
    id: 'gpt-5-mini',
    lab: 'openai',
    name: 'GPT-5 mini',
    description: '',
    created: 1_700_000_000,
    aliases: [],
    contextLength: 128_000,
    maxCompletionTokens: 16_384,
    inputModalities: ['text'],
    outputModalities: ['text'],
    features: ['tools', 'streaming'],
    parameters: ['temperature', 'tools', 'max_tokens'],
    endpoints: ['chat'],
    imageTokens: 1_000,
    imageOutput: null,
    clip: null,
    isSandbox: false,
    mediaUnit: null,
    ...given,
  }
}

/** Callers have no limits. */
export const NO_RATES: SelectionPorts['rates'] = {
  look: (_scope, perMinute) => ({ limit: perMinute, remaining: perMinute, resetAt: 0, inFlight: 0 }),
}

export const PRICE: ReferencePrice = {
  version: 'test',
  unitPrices: { input: picoUsd(1_000_000n), cacheRead: picoUsd(100_000n), output: picoUsd(10_000_000n) },
}

export function buildProvider(id: string, isTrusted = true): Provider {
  const host = `${id}.example`
  return {
    id,
    name: `Provider ${id}`,
    baseUrl: `https://${host}/v1`,
    host,
    isTrusted,
    costReferenceUrl: null,
    endpoints: null,
    hosts: [],
    basePaths: [],
    fileHosts: [],
  }
}

/** Builds an offer. By default it sells `gpt-5-mini` at provider `a` for 60 % of the reference price. */
export function buildOffer(given: Partial<OfferRow> = {}): OfferRow {
  const provider = given.provider ?? 'a'
  return {
    id: ids.make('ofr'),
    model: 'gpt-5-mini',
    sellerAccount: ids.make('acc'),
    sellerAlias: 'seller-1',
    provider,
    isTrusted: true,
    baseUrl: `https://${provider}.example/v1`,
    apiFormat: 'openai',
    providerModel: 'vendor-gpt-5-mini',
    keptBps: keptBps(6_000),
    capDailyMicro: null,
    credential: {
      v: 1,
      id: ids.make('crd'),
      tenant: 'acc_1',
      host: `${provider}.example`,
      purpose: 'offer',
      ringKeyId: 'k1',
      wrapIv: '',
      wrappedKey: '',
      iv: '',
      ciphertext: '',
    },
    ttftMs: null,
    createdAt: 1,
    ...given,
  }
}

export function buildTestMarket(offers: readonly OfferRow[], model: Model = buildModel()) {
  const names = [...new Set(offers.map(({ provider }) => provider))]
  return buildMarket({
    ...EMPTY_BODIES,
    models: [model],
    providers: [...names, 'unused'].map((name) => buildProvider(name)),
    prices: new Map([[model.id, { ...PRICE, effectiveAt: 0, source: 'test' }]]),
    offers: new Map([[model.id, createOfferBook(rankOffers(offers))]]),
  })
}

export function buildTarget(model: Model = buildModel()): ModelTarget {
  const { id } = model
  return { kind: 'model', id, listing: id, requested: id, price: PRICE, model, endpoint: 'chat' }
}

export function buildDemand(given: Partial<ModelDemand> = {}): ModelDemand {
  return {
    kind: 'model',
    endpoint: 'chat',
    model: 'gpt-5-mini',
    isStreamed: false,
    hints: { only: [], blocked: [], order: [], allowsUntrusted: undefined },
    floorPercents: [],
    needs: { imageInput: false },
    bounds: { inputTokens: 100, inputImages: 0, inputBytes: 36, maxOutputTokens: 50, choices: 1 },
    maxCostMicro: undefined,
    ...given,
  }
}

export function buildPayer(given: Partial<AccountPayer> = {}): AccountPayer {
  return {
    account: 'acc_1',
    keyId: 'key_1',
    wallet: null,
    floorPercents: [],
    providersBlocked: [],
    allowsUntrusted: undefined,
    modelsAllowed: null,
    caps: { dailyMicro: null, monthlyMicro: null },
    ratePerMinute: null,
    ...given,
  }
}

export function buildMarketOffer(given: Partial<OfferRow> = {}): MarketOffer {
  return rankOffers([buildOffer(given)])[0]!
}

export function buildPlan(given: Partial<ModelPlan> = {}): ModelPlan {
  return {
    rid: ids.requestId(),
    offer: buildMarketOffer(),
    target: buildTarget(),
    maxOutputTokens: 50,
    createdAt: 1_763_000_000,
    isCeilingBound: false,
    seal: SEAL,
    ...given,
  }
}

export function buildRaw(body: string | Buffer, headers: Record<string, string> = {}): RawRequest {
  return {
    requestId: ids.requestId(),
    method: 'POST',
    path: '/v1/chat/completions',
    query: new URLSearchParams(),
    params: {},
    headers: { 'content-type': 'application/json', ...headers },
    body: Buffer.from(body),
    pathFloorPercent: undefined,
    peer: () => '127.0.0.1',
    receivedAt: 1_763_000_000_000,
    startedAt: 0,
  }
}

/** The providers of offers, in order, so that a test can read a ranking. */
export function providersOf(offers: readonly Offer[]): string[] {
  return offers.map(({ provider }) => provider)
}
