import { DEFAULT_SIZE, squareOf } from '#shared/images.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import type { ImageCodec, ImageSource } from '#shared/protocols/image-codec.ts'
import { readImages } from '#shared/protocols/middle-form/image-list.ts'
import { takeMembers } from '#shared/protocols/middle-form/image-members.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { pathOfModel } from './path.ts'

/** Our members, each with fal's name. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ...['seed', 'negative_prompt', 'guidance_scale', 'num_inference_steps', 'output_format', 'strength'].map(
    (name) => [name, name] as const,
  ),
  ['steps', 'num_inference_steps'],
  ['enable_safety_checker', 'enable_safety_checker'],
])

/**
 * Images of fal's synchronous endpoints (fal.ai/docs/model-api-reference/image-generation-api): the size in
 * `image_size`, and each image with its address, size and type. The models have a price per megapixel or per image.
 */
export const falImages: ImageCodec = {
  encode(ask, plan) {
    const { prompt, count, size, resolution, quality, sources, format, extras } = ask
    const { members, adaptedParams } = takeMembers(plan, extras, () => false)
    const { width, height } = size ?? (resolution === undefined ? DEFAULT_SIZE : squareOf(resolution))
    const body = {
      prompt,
      image_size: { width, height },
      num_images: count,
      // Requests the bytes in the answer in place of an address.
      sync_mode: format !== 'url',
      ...sourceMembers(sources, plan.target.model.parameters),
      ...renamed(members),
    }
    const unknownNames = Object.keys(members).filter((name) => !NAMES.has(name))
    const leftOut = quality === undefined ? unknownNames : ['quality', ...unknownNames]
    const path = pathOfModel(plan.offer.providerModel)
    return { ...JSON_REQUEST, path, body: JSON.stringify(body), adaptedParams: [...leftOut, ...adaptedParams] }
  },
  read(body) {
    // Some models return a single image outside the list.
    const { images, image } = body
    return readImages(isRecord(image) ? [image] : images, body)
  },
}

/** A single source has a member of its own, except at models that accept a list alone. */
function sourceMembers(sources: readonly ImageSource[], parameters: readonly string[]): JsonObject {
  const [base] = sources
  if (base === undefined) return {}
  const urls = sources.map(({ url }) => url)
  return urls.length > 1 || parameters.includes('image_urls') ? { image_urls: urls } : { image_url: base.url }
}

function renamed(members: JsonObject): JsonObject {
  const entries = Object.entries(members).flatMap(([name, value]) => {
    const providerName = NAMES.get(name)
    return providerName === undefined ? [] : [[providerName, value] as const]
  })
  return Object.fromEntries(entries)
}
