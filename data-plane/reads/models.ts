import type { Market } from '#data-plane/store/market.ts'
import type { Model } from '#shared/catalog/model.ts'
import { AppError } from '#shared/errors.ts'
import { KEEP_ALL } from '#shared/money.ts'
import type { ReferencePrice } from '#shared/price-list.ts'
import { availableIn, readAvailability, standingOf } from './availability.ts'
import type { ListedModel } from './model-query.ts'
import { nextPage, page, readModelQuery, select } from './model-query.ts'
import { overridesOf } from './price-overrides.ts'
import { pricingOf, shownMinimums } from './pricing.ts'
import type { Read, ReadRequest, ReadSources } from './read.ts'
import type { ReadAnswer } from './read-answer.ts'
import type { ReadMemory } from './read-memory.ts'

const MAX_AGE_SECONDS = 60

/**
 * `GET /v1/models`: the catalogue in OpenRouter's shape, sandbox models last. A model without prices is left out,
 * because it cannot be bought yet and would look free. A model without a served endpoint is left out as well. Each
 * entry says whether its model can be bought now. The query takes OpenRouter's filters and pages, and `available`.
 */
export const listModels: Read = (sources, request) => listPage(sources, request, '/v1/models')

/** `GET /v1/embeddings/models`: the embedding models, in the same shape. */
export const listEmbeddingModels: Read = (sources, request) =>
  listPage(sources, request, '/v1/embeddings/models', ({ endpoints }) => endpoints.includes('embeddings'))

/**
 * `GET /v1/models/user`: the models that the key may buy, in the same shape. Their availability counts the key's floor
 * and trust.
 */
export const listOwnModels: Read = (sources, request) => {
  const { payer } = request
  const { resolve } = sources.market()
  const allowedIds = payer?.modelsAllowed?.map((name) => resolve(name)?.id)
  return listPage(sources, request, '/v1/models/user', ({ id }) => allowedIds === undefined || allowedIds.includes(id))
}

/** `GET /v1/models/count`: how many models such a list has. */
export const countModels: Read = async (sources, request) => {
  const { choice, ignored } = readModelQuery(request.query)
  const { length } = select(sources, choice, await listedModels(sources, request))
  return { json: JSON.stringify({ data: { count: length } }), maxAgeSeconds: MAX_AGE_SECONDS, ignored }
}

/** `GET /v1/models/{id}`: one model under any of its names. */
export const readModel: Read = async (sources, request) => {
  const json = await entryText(sources, request)
  return { json, maxAgeSeconds: MAX_AGE_SECONDS }
}

/** `GET /v1/model/{id}`: the same as the `data` that OpenRouter's clients read. */
export const readModelData: Read = async (sources, request) => {
  const json = await entryText(sources, request)
  return { json: `{"data":${json}}`, maxAgeSeconds: MAX_AGE_SECONDS }
}

/** `GET /api/inference/v1/models`: the plain list of models. */
export const listInferenceModels: Read = async (sources, request) => {
  const { choice, ignored } = readModelQuery(request.query)
  const data = page(choice, select(sources, choice, await listedModels(sources, request))).map(
    ({ model: { id, created, lab }, ...standing }) => ({
      id,
      object: 'model',
      created,
      owned_by: lab,
      provider: lab,
      ...availableIn(standing),
    }),
  )
  return { json: JSON.stringify({ object: 'list', data }), maxAgeSeconds: MAX_AGE_SECONDS, ignored }
}

/** A model that `GET /v1/models` lists, under any of its names. Throws AppError `not_found`. */
export function findListed({ resolve, prices }: Market, name: string): Model {
  const model = resolve(name)
  if (!model || !isListed(model, prices)) throw new AppError('not_found', { message: 'The model does not exist.' })
  return model
}

function listPage(
  sources: ReadSources,
  request: ReadRequest,
  path: string,
  isMeant: (model: Model) => boolean = () => true,
): Promise<ReadAnswer> {
  const { query, floorPercent, payer } = request
  const make = () => pageOf(sources, request, path, isMeant)
  // Only the plain list is requested again and again.
  if (query.size > 0 || floorPercent !== undefined || payer !== undefined) return make()
  return sources.memory.answerOf(path, [sources.market()], sources.clock.now(), make)
}

async function pageOf(
  sources: ReadSources,
  request: ReadRequest,
  path: string,
  isMeant: (model: Model) => boolean,
): Promise<ReadAnswer> {
  const { choice, ignored } = readModelQuery(request.query)
  const all = (await listedModels(sources, request)).filter(({ model }) => isMeant(model))
  const selected = select(sources, choice, all)
  const pageModels = page(choice, selected)
  const next = nextPage(request.query, choice, selected.length)
  const data = pageModels.map((model) => textOf(sources.memory, model)).join()
  const rest = { total_count: selected.length, links: { next: next === undefined ? null : `${path}?${next}` } }
  const json = `{"object":"list","data":[${data}],${JSON.stringify(rest).slice(1)}`
  return { json, maxAgeSeconds: MAX_AGE_SECONDS, ignored }
}

/** The catalogue as a reader sees it, in the order of lists. */
async function listedModels(sources: ReadSources, request: ReadRequest): Promise<readonly ListedModel[]> {
  const { models, prices } = sources.market()
  const availability = await readAvailability(sources)
  return inListOrder(models).flatMap((model) => {
    const price = prices.get(model.id)
    return price === undefined ? [] : [{ model, price, ...standingOf(availability, model, request) }]
  })
}

async function entryText(sources: ReadSources, request: ReadRequest): Promise<string> {
  const market = sources.market()
  const { id = '' } = request.params
  const model = findListed(market, id)
  const standing = standingOf(await readAvailability(sources), model, request)
  return textOf(sources.memory, { model, price: market.prices.get(model.id), ...standing })
}

/** An entry's text. The part that does not change from one second to the next is serialised once. */
function textOf(memory: ReadMemory, { model, price, ...standing }: ListedModel): string {
  const from = price === undefined ? [model] : [model, price]
  const text = memory.textOf(`model ${model.id}`, from, () => JSON.stringify(catalogEntry(model, price)))
  return `${text.slice(0, -1)},${JSON.stringify(availableIn(standing)).slice(1)}`
}

type Prices = ReadonlyMap<string, ReferencePrice>

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

/** A model in OpenRouter's shape. Members that its clients require and that have no meaning here are null. */
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
    pricing: {
      ...pricingOf(price?.unitPrices ?? {}, KEEP_ALL),
      ...shownMinimums(price?.minimums),
      overrides: overridesOf(price?.overrides, KEEP_ALL),
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

/** The modalities that a model reads and writes, in OpenRouter's shape. */
export function architectureOf(model: Model) {
  return {
    modality: `${model.inputModalities.join('+')}->${model.outputModalities.join('+')}`,
    input_modalities: model.inputModalities,
    output_modalities: model.outputModalities,
  }
}
