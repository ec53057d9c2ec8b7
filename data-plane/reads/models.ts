import type { Model } from '#shared/catalog/model.ts'
import { AppError } from '#shared/errors.ts'
import { formatUnitPrice } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/pricing.ts'
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
  const { resolve, prices } = market()
  const model = resolve(params['id'] ?? '')
  if (!model || !isListed(model, prices)) throw new AppError('not_found', { message: 'The model does not exist.' })
  return { json: JSON.stringify(catalogEntry(model, prices.get(model.id))), maxAgeSeconds: MAX_AGE_SECONDS }
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
  const unit = price?.unitPrices ?? {}
  const show = (value: Parameters<typeof formatUnitPrice>[0] | undefined, units = 1n) =>
    value === undefined ? undefined : formatUnitPrice(value, units)
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
    architecture: {
      modality: `${model.inputModalities.join('+')}->${model.outputModalities.join('+')}`,
      input_modalities: model.inputModalities,
      output_modalities: model.outputModalities,
    },
    pricing: {
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
    },
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
