import type { Model } from '#shared/catalog/model.ts'
import { keptToFraction, meetsFloor } from '#shared/discount.ts'
import type { BookOffer, LiveState } from '#shared/market-view.ts'
import { isAvailable } from '#shared/market-view.ts'
import { architectureOf, findListed, readModel } from './models.ts'
import type { OnSale } from './on-sale.ts'
import { findParts, liveState } from './on-sale.ts'
import { overridesOf } from './price-overrides.ts'
import { pricingOf, shownMinimums } from './pricing.ts'
import type { Read } from './read.ts'

const MAX_AGE_SECONDS = 5
const PROMISES_AGE_SECONDS = 300
/** Most caps that are read for the endpoints of a model: those of its best offers. */
export const CAPS_READ = 1_000
const ENDPOINTS = '/endpoints'
/** OpenRouter's `status` of an endpoint that serves calls, and of one that does not. */
const SERVING = 0
const NOT_SERVING = -1

/** `GET /v1/models/{id}` and `{id}/endpoints`. They share a row because a model's name may contain slashes. */
export const readModelOrEndpoints: Read = (sources, request) => {
  const name = request.params['id'] ?? ''
  if (!name.endsWith(ENDPOINTS)) return readModel(sources, request)
  return readEndpoints(sources, { ...request, params: { id: name.slice(0, -ENDPOINTS.length) } })
}

/**
 * `GET /v1/models/{id}/endpoints`: the providers of a model and their prices, in OpenRouter's shape. A provider is one
 * endpoint: its best available offer, or its best offer without an available one; serving endpoints come first. Under a
 * floor of the path, offers below it do not count.
 */
const readEndpoints: Read = async (sources, { params, floorPercent = 0 }) => {
  const market = sources.market()
  const model = findListed(market, params['id'] ?? '')
  const parts = findParts(market, model.id)
  const live = await liveState(sources, [parts.offers], CAPS_READ)
  const data = {
    id: `${model.lab}/${model.id}`,
    name: model.name,
    created: model.created,
    description: model.description,
    architecture: { ...architectureOf(model), tokenizer: null, instruct_type: null },
    endpoints: bestOfEach(
      parts.offers.filter(({ keptBps }) => meetsFloor(keptBps, floorPercent)),
      live,
    ).map((served) => endpointOf(parts, served)),
  }
  return { json: JSON.stringify({ data }), maxAgeSeconds: MAX_AGE_SECONDS }
}

type Served = { readonly offer: BookOffer; readonly isServing: boolean }

/** The best offer of each provider, in the order of the book. One walk, because a book may be long. */
export function bestOfEach(offers: readonly BookOffer[], live: LiveState): readonly Served[] {
  const [serving, resting] = [new Map<string, BookOffer>(), new Map<string, BookOffer>()]
  for (const offer of offers) {
    const mapOfKind = isAvailable(offer, live) ? serving : resting
    if (!mapOfKind.has(offer.provider)) mapOfKind.set(offer.provider, offer)
  }
  return [
    ...[...serving.values()].map((offer) => ({ offer, isServing: true })),
    ...[...resting.values()].flatMap((offer) => (serving.has(offer.provider) ? [] : [{ offer, isServing: false }])),
  ]
}

function endpointOf({ model, unitPrices, overrides, minimums, row }: OnSale, { offer, isServing }: Served): object {
  const measuredProvider = row?.providers.find(({ provider }) => provider === offer.provider)
  return {
    name: `${offer.provider} | ${model.lab}/${model.id}`,
    model_id: model.id,
    model_name: model.name,
    provider_name: offer.provider,
    tag: offer.provider,
    trusted: offer.isTrusted,
    status: isServing ? SERVING : NOT_SERVING,
    pricing: {
      ...pricingOf(unitPrices, offer.keptBps),
      ...shownMinimums(minimums),
      overrides: overridesOf(overrides, offer.keptBps),
      discount: keptToFraction(offer.keptBps),
    },
    context_length: model.contextLength,
    max_completion_tokens: model.maxCompletionTokens,
    supported_parameters: model.parameters,
    supports_implicit_caching: unitPrices.cacheRead !== undefined,
    supports_tool_choice: toolChoiceOf(model),
    uptime_last_1d: measuredProvider?.uptimePct ?? null,
    ttft_p50_ms: measuredProvider?.ttftP50Ms ?? null,
    tps_p50: measuredProvider?.tpsP50 ?? null,
    ...NOT_KNOWN,
  }
}

/** `GET /v1/endpoints/zdr`: the endpoints that promise to keep no data. No seller makes such a promise here. */
export const listPromisingEndpoints: Read = () => ({ json: '{"data":[]}', maxAgeSeconds: PROMISES_AGE_SECONDS })

/** Members that OpenRouter's clients require and that are not measured here, or that no offer has. */
const NOT_KNOWN = {
  max_prompt_tokens: null,
  quantization: null,
  latency_last_30m: null,
  throughput_last_30m: null,
  uptime_last_30m: null,
  uptime_last_5m: null,
  supports_voice_cloning: false,
}

function toolChoiceOf({ parameters }: Model): object {
  const can = parameters.includes('tool_choice')
  return { auto: can, none: can, required: can, function: can }
}
