import type { Endpoint, Model } from '#shared/catalog/model.ts'
import { streamsImages } from '#shared/catalog/model.ts'
import { meetsFloor } from '#shared/discount.ts'
import { AppError } from '#shared/errors.ts'
import type { KeptBps } from '#shared/money.ts'
import { KEEP_ALL } from '#shared/money.ts'
import type { UnitPrices } from '#shared/pricing.ts'
import { bestOfEach, CAPS_READ } from './endpoints.ts'
import { architectureOf, findListed, inListOrder } from './models.ts'
import { findParts, liveState } from './on-sale.ts'
import { pricingOf } from './pricing.ts'
import type { Read, ReadSources } from './read.ts'

const LIST_AGE_SECONDS = 60
const ENDPOINTS_AGE_SECONDS = 5
const PICTURES: readonly Endpoint[] = ['image', 'image-edit']

/** `GET /v1/images/models`: the models that make images, in OpenRouter's shape. */
export const listImageModels: Read = (sources) => listOf(sources, isPictureModel, imageModel)

/** `GET /v1/videos/models`: the models that make videos, in OpenRouter's shape. */
export const listVideoModels: Read = (sources) =>
  listOf(sources, ({ endpoints }) => endpoints.includes('video'), videoModel)

/**
 * `GET /v1/images/models/{author}/{slug}/endpoints`: the providers that make images with a model now, and their prices,
 * in OpenRouter's shape. A provider is one endpoint: its best available offer. Throws AppError `not_found`.
 */
export const readImageEndpoints: Read = async (sources, { params, floorPercent = 0 }) => {
  const market = sources.market()
  const model = findListed(market, `${params['author'] ?? ''}/${params['slug'] ?? ''}`)
  if (!isPictureModel(model))
    throw new AppError('not_found', { message: 'This model does not make pictures at this path.' })
  const parts = findParts(market, model.id)
  const live = await liveState(sources, [parts.offers], CAPS_READ)
  const offers = parts.offers.filter(({ keptBps }) => meetsFloor(keptBps, floorPercent))
  const serving = bestOfEach(offers, live).filter(({ isServing }) => isServing)
  const endpoints = serving.map(({ offer: { provider, keptBps } }) => ({
    provider_name: provider,
    provider_slug: provider,
    provider_tag: provider,
    ...capabilitiesOf(model),
    allowed_passthrough_parameters: [],
    pricing: pictureLines(parts.unitPrices, keptBps),
  }))
  return { json: JSON.stringify({ id: slugOf(model), endpoints }), maxAgeSeconds: ENDPOINTS_AGE_SECONDS }
}

type Show = (model: Model, prices: UnitPrices) => object

function listOf(sources: ReadSources, isMeant: (model: Model) => boolean, show: Show) {
  const { models, prices } = sources.market()
  const data = inListOrder(models).flatMap((model) => {
    const price = prices.get(model.id)
    return price === undefined || !isMeant(model) ? [] : [show(model, price.unitPrices)]
  })
  return { json: JSON.stringify({ data }), maxAgeSeconds: LIST_AGE_SECONDS }
}

function isPictureModel({ endpoints }: Model): boolean {
  return endpoints.some((endpoint) => PICTURES.includes(endpoint))
}

function slugOf({ lab, id }: Model): string {
  return `${lab}/${id}`
}

function imageModel(model: Model): object {
  const { name, description, created } = model
  const { input_modalities, output_modalities } = architectureOf(model)
  return {
    id: slugOf(model),
    name,
    description,
    created,
    architecture: { input_modalities, output_modalities },
    endpoints: `/v1/images/models/${model.lab}/${encodeURIComponent(model.id)}/endpoints`,
    ...capabilitiesOf(model),
  }
}

/**
 * The members that a model accepts. A member without values in the catalogue is a flag: its presence means that it is
 * accepted.
 */
function capabilitiesOf(model: Model): object {
  const parameters = model.parameters.filter((name) => name !== 'stream')
  const qualities = Object.keys(model.imageOutput?.tokens ?? {})
  const flagOrValues = (name: string) =>
    name === 'quality' && qualities.length > 0 ? { type: 'enum', values: qualities } : { type: 'boolean' }
  return {
    supported_parameters: Object.fromEntries(parameters.map((name) => [name, flagOrValues(name)])),
    supports_streaming: streamsImages(model),
  }
}

/** The prices of an image by charged class: the member of a price list, the billed item, its unit, its size. */
const PICTURE_LINES = [
  ['image', 'output_image', 'image', undefined],
  ['image_2k', 'output_image', 'image', '2K'],
  ['image_4k', 'output_image', 'image', '4K'],
  ['megapixel', 'output_image', 'megapixel', undefined],
  ['image_output', 'output_image', 'token', undefined],
  ['image_token', 'input_image', 'token', undefined],
  ['prompt', 'input_text', 'token', undefined],
  ['completion', 'output_text', 'token', undefined],
  ['request', 'output_image', 'request', undefined],
] as const

function pictureLines(prices: UnitPrices, kept: KeptBps): object[] {
  const pricing = pricingOf(prices, kept)
  return PICTURE_LINES.flatMap(([member, billable, unit, variant]) => {
    const usd = Number(pricing[member] ?? 0)
    return usd === 0 ? [] : [{ billable, unit, cost_usd: usd, ...(variant && { variant }) }]
  })
}

/** OpenRouter's names for the roles of a video's input images. A reference for the look has none. */
const FRAMES = { start: 'first_frame', end: 'last_frame', reference: undefined } as const

function videoModel(model: Model, prices: UnitPrices): object {
  const { id, name, description, created, clip, parameters } = model
  return {
    id,
    canonical_slug: slugOf(model),
    name,
    description,
    created,
    pricing_skus: skusOf(prices),
    supported_durations: clip?.lengths ? lengthsOf(clip.lengths) : null,
    supported_resolutions: clip?.resolutions.map((tier) => (tier === '4k' ? '4K' : tier)) ?? null,
    supported_frame_images: clip?.roles.flatMap((role) => FRAMES[role] ?? []) ?? null,
    seed: parameters.includes('seed'),
    allowed_passthrough_parameters: [],
    ...NOT_SAID,
  }
}

/** Members that OpenRouter's clients require and that the catalogue does not have. */
const NOT_SAID = {
  supported_aspect_ratios: null,
  supported_sizes: null,
  generate_audio: null,
  creativity: null,
  upscale_factor: null,
  hugging_face_id: null,
}

function lengthsOf({ least, most, step }: NonNullable<NonNullable<Model['clip']>['lengths']>): number[] {
  return Array.from({ length: Math.floor((most - least) / step) + 1 }, (_, index) => least + index * step)
}

/** The reference price of a video by its unit, in US dollars. */
function skusOf(prices: UnitPrices): object {
  const { second, second_1080p, second_4k, request } = pricingOf(prices, KEEP_ALL)
  const skus = { second, second_1080p, second_4k, request }
  return Object.fromEntries(Object.entries(skus).filter(([, usd]) => usd !== undefined))
}
