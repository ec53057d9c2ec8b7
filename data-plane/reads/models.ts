import type { Market } from '#data-plane/store/market.ts'
import type { Model } from '#shared/catalog/model.ts'
import { AppError } from '#shared/errors.ts'
import type { KeptBps, PicoUsd } from '#shared/money.ts'
import { discountedPerMillion, formatUnitPrice, KEEP_ALL, picoUsd } from '#shared/money.ts'
import type { ReferencePrice, UnitPrices } from '#shared/pricing.ts'
import type { Read } from './read.ts'

const MAX_AGE_SECONDS = 60
const MILLISECONDS_PER_SECOND = 1_000n
const PIXELS_PER_MEGAPIXEL = 1_000_000n

/**
 * `GET /v1/models`: the catalogue in OpenRouter's shape, sandbox models last. A model without prices is left out, because
 * it cannot be bought yet and would look free; so is a model whose endpoints are not served.
 */
export const listModels: Read = ({ market, memory }) => {
  const { models, prices } = market()
  const json = memory.textOf('models', [models, prices], () => catalog(models, prices))
  return { json, maxAgeSeconds: MAX_AGE_SECONDS }
}

/** `GET /v1/models/{id}`: one model under any of its names. */
export const readModel: Read = ({ market }, { params }) => {
  const { prices } = market()
  const model = findListed(market(), params['id'] ?? '')
  return { json: JSON.stringify(catalogEntry(model, prices.get(model.id))), maxAgeSeconds: MAX_AGE_SECONDS }
}

/** A model that `GET /v1/models` lists, under any of its names. Throws AppError `not_found`. */
export function findListed({ resolve, prices }: Market, asked: string): Model {
  const model = resolve(asked)
  if (!model || !isListed(model, prices)) throw new AppError('not_found', { message: 'The model does not exist.' })
  return model
}

/** `GET /api/inference/v1/models`: the plain list of models. */
export const listInferenceModels: Read = ({ market, memory }) => {
  const { models, prices } = market()
  const json = memory.textOf('plain models', [models, prices], () => plainList(models, prices))
  return { json, maxAgeSeconds: MAX_AGE_SECONDS }
}

type Prices = ReadonlyMap<string, ReferencePrice>

function catalog(models: readonly Model[], prices: Prices): string {
  const data = listedOf(models, prices).map((model) => catalogEntry(model, prices.get(model.id)))
  // The list is one page.
  return JSON.stringify({ object: 'list', data, total_count: data.length, links: { next: null } })
}

function plainList(models: readonly Model[], prices: Prices): string {
  return JSON.stringify({
    object: 'list',
    data: listedOf(models, prices).map(({ id, created, lab }) => ({
      id,
      object: 'model',
      created,
      owned_by: lab,
      provider: lab,
    })),
  })
}

function listedOf(models: readonly Model[], prices: Prices): Model[] {
  return inListOrder(models).filter((model) => isListed(model, prices))
}

function isListed(model: Model, prices: Prices): boolean {
  return prices.has(model.id)
}

/** Newest first, sandbox models last. */
export function inListOrder(models: readonly Model[]): Model[] {
  return [...models].sort(
    (left, right) =>
      Number(left.isSandbox) - Number(right.isSandbox) || right.created - left.created || (left.id < right.id ? -1 : 1),
  )
}

/** One model. Members that clients of OpenRouter demand and that mean nothing here are null. */
function catalogEntry(model: Model, price: ReferencePrice | undefined): object {
  return {
    id: model.id,
    object: 'model',
    canonical_slug: `${model.lab}/${model.id}`,
    name: model.name,
    description: model.description,
    created: model.created,
    owned_by: model.lab,
    provider: model.lab,
    context_length: model.contextLength,
    max_completion_tokens: model.maxCompletionTokens,
    architecture: architectureOf(model),
    pricing: pricingOf(price?.unitPrices ?? {}, KEEP_ALL),
    top_provider: {
      context_length: model.contextLength,
      max_completion_tokens: model.maxCompletionTokens,
      is_moderated: false,
    },
    per_request_limits: null,
    default_parameters: null,
    supported_voices: null,
    supported_features: model.features,
    supported_parameters: model.parameters,
    endpoints: model.endpoints,
    links: { details: `/api/markets/${encodeURIComponent(model.id)}` },
  }
}

/** What a model reads and writes, in OpenRouter's shape. */
export function architectureOf(model: Model) {
  return {
    modality: `${model.inputModalities.join('+')}->${model.outputModalities.join('+')}`,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
  }
}

/** Prices of one unit each at a kept share, in US dollars, rounded up to 12 decimals. */
export function pricingOf(unit: UnitPrices, kept: KeptBps) {
  const show = (price: PicoUsd | undefined, units = 1n) =>
    price === undefined ? undefined : formatUnitPrice(picoUsd(discountedPerMillion(picoUsd(price * units), kept)))
  return {
    prompt: show(unit.input) ?? '0',
    completion: show(unit.output) ?? '0',
    input_cache_read: show(unit.cacheRead),
    input_cache_write: show(unit.cacheWrite),
    internal_reasoning: show(unit.reasoning),
    image: show(unit.images),
    image_2k: show(unit.images2k),
    image_4k: show(unit.images4k),
    megapixel: show(unit.pixels, PIXELS_PER_MEGAPIXEL),
    image_token: show(unit.imageInput),
    image_output: show(unit.imageOutput),
    audio: show(unit.audioInput),
    audio_output: show(unit.audioOutput),
    request: show(unit.calls),
    character: show(unit.characters),
    second: show(unit.milliseconds, MILLISECONDS_PER_SECOND),
    second_1080p: show(unit.milliseconds1080p, MILLISECONDS_PER_SECOND),
    second_4k: show(unit.milliseconds4k, MILLISECONDS_PER_SECOND),
  }
}
