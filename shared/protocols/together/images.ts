import { DEFAULT_SIZE, squareOf } from '#shared/images.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { ImageCodec } from '#shared/protocols/image-codec.ts'
import { readImageList } from '#shared/protocols/middle-form/image-list.ts'
import { takeMembers } from '#shared/protocols/middle-form/image-members.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'

const PATH = '/images/generations'
/** Our members that Together has under the same name. */
const KNOWN: ReadonlySet<string> = new Set([
  'seed',
  'steps',
  'negative_prompt',
  'guidance_scale',
  'output_format',
  'disable_safety_checker',
])

/**
 * Together's image API (docs.together.ai/reference/post-images-generations): width and height as separate members,
 * `base64` for bytes, and sources beside the prompt on the same path.
 */
export const togetherImages: ImageCodec = {
  encode(ask, plan) {
    const { prompt, count, size, resolution, quality, sources, format, extras } = ask
    const { members, adaptedParams } = takeMembers(plan, extras, () => false)
    const [base, ...references] = sources
    const { width, height } = size ?? (resolution === undefined ? DEFAULT_SIZE : squareOf(resolution))
    const body = {
      model: plan.offer.providerModel,
      prompt,
      width,
      height,
      n: count,
      ...(format !== undefined && { response_format: format === 'b64_json' ? 'base64' : 'url' }),
      ...(base !== undefined && { image_url: base.url }),
      ...(references.length > 0 && { reference_images: references.map(({ url }) => url) }),
      ...knownMembers(members),
    }
    const unknownNames = Object.keys(members).filter((name) => !KNOWN.has(name))
    const leftOut = quality === undefined ? unknownNames : ['quality', ...unknownNames]
    return { ...JSON_REQUEST, path: PATH, body: JSON.stringify(body), adaptedParams: [...leftOut, ...adaptedParams] }
  },
  read: readImageList,
}

function knownMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([name]) => KNOWN.has(name)))
}
