import type { Model } from '#shared/catalog/model.ts'
import { AppError } from '#shared/errors.ts'
import { formatUnitPrice } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/pricing.ts'
import type { Read } from './read.ts'

const MAX_AGE_SECONDS = 60
const MILLISECONDS_PER_SECOND = 1_000n

/**
 * `GET /v1/models`: the whole catalogue in OpenRouter's shape, sandbox models last. A model without prices is left out:
 * it cannot be bought yet and would look free.
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
  if (!model || !prices.has(model.id)) throw new AppError('not_found', { message: 'The model does not exist.' })
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
  return JSON.stringify({
    object: 'list',
    data: pricedOf(models, prices).map((model) => catalogEntry(model, prices.get(model.id))),
  })
}

function plainList(models: readonly Model[], prices: Prices): string {
  return JSON.stringify({
    object: 'list',
    data: pricedOf(models, prices).map(({ id, created, lab }) => ({ id, object: 'model', created, owned_by: lab })),
  })
}

function pricedOf(models: readonly Model[], prices: Prices): Model[] {
  return inListOrder(models).filter(({ id }) => prices.has(id))
}

/** Newest first, sandbox models last. */
export function inListOrder(models: readonly Model[]): Model[] {
  return [...models].sort(
    (left, right) =>
      Number(left.isSandbox) - Number(right.isSandbox) || right.created - left.created || (left.id < right.id ? -1 : 1),
  )
}

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
    context_length: model.contextLength,
    max_completion_tokens: model.maxCompletionTokens,
    architecture: { input_modalities: model.inputModalities, output_modalities: model.outputModalities },
    pricing: {
      prompt: show(unit.input) ?? '0',
      completion: show(unit.output) ?? '0',
      input_cache_read: show(unit.cacheRead),
      input_cache_write: show(unit.cacheWrite),
      internal_reasoning: show(unit.reasoning),
      image: show(unit.images),
      request: show(unit.calls),
      character: show(unit.characters),
      second: show(unit.milliseconds, MILLISECONDS_PER_SECOND),
    },
    top_provider: { context_length: model.contextLength, max_completion_tokens: model.maxCompletionTokens },
    supported_features: model.features,
    supported_parameters: model.parameters,
    endpoints: model.endpoints,
  }
}
