import { tierOf } from '#shared/images.ts'
import { isGiven, isRecord } from '#shared/json-members.ts'
import type { ImageCodec, ImageSource } from '#shared/protocols/image-codec.ts'
import { pictureAt } from '#shared/protocols/middle-form/image-list.ts'
import { takeMembers } from '#shared/protocols/middle-form/image-members.ts'
import { PICTURE_RATIOS, ratioOf } from '#shared/protocols/middle-form/picture-ratio.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { PATHS } from './paths.ts'

/** Members of an image request that a chat request has as well. */
const IN_CHAT: ReadonlySet<string> = new Set(['seed', 'user', 'temperature'])

/**
 * Images of a chat model (openrouter.ai/docs/features/multimodal/image-generation): the prompt is a message, and the
 * answer's message has `images`. Such a model makes one image a call.
 */
export const chatImages: ImageCodec = {
  encode(ask, plan) {
    const { prompt, sources, size, resolution, count, quality } = ask
    const { aspect_ratio: aspectRatio, ...extras } = ask.extras
    const knownRatio = typeof aspectRatio === 'string' && PICTURE_RATIOS.has(aspectRatio) ? aspectRatio : undefined
    const ratio = size === undefined ? knownRatio : ratioOf(size)
    const config = {
      ...(ratio !== undefined && { aspect_ratio: ratio }),
      ...((size ?? resolution) !== undefined && tierOf(ask) !== '1K' && { image_size: tierOf(ask) }),
    }
    const { members, adaptedParams } = takeMembers(plan, extras, (name) => !IN_CHAT.has(name))
    const unknownNames = Object.keys(members).filter((name) => !IN_CHAT.has(name))
    const body = {
      model: plan.offer.providerModel,
      messages: [{ role: 'user', content: [{ type: 'text', text: prompt }, ...sources.map(imagePart)] }],
      modalities: ['image', 'text'],
      ...Object.fromEntries(Object.entries(members).filter(([name]) => IN_CHAT.has(name))),
      ...(Object.keys(config).length > 0 && { image_config: config }),
    }
    const leftOut = [
      ...(count > 1 ? ['n'] : []),
      ...(size !== undefined && ratio === undefined ? ['size'] : []),
      ...(isGiven(aspectRatio) && ratio !== aspectRatio ? ['aspect_ratio'] : []),
      ...(quality === undefined ? [] : ['quality']),
    ]
    return {
      ...JSON_REQUEST,
      path: PATHS.chat,
      body: JSON.stringify(body),
      adaptedParams: [...leftOut, ...adaptedParams, ...unknownNames],
    }
  },
  read(body) {
    const { choices, usage } = body
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined
    const message = isRecord(choice) ? choice['message'] : undefined
    if (!isRecord(message)) return undefined
    const { images } = message
    // A model that answered with text alone has made no image.
    if (!Array.isArray(images)) return { images: [], usage, facts: {} }
    const pictures = images.map((part) => pictureAt(urlIn(part), 'url'))
    return pictures.every((image) => image !== undefined) ? { images: pictures, usage, facts: {} } : undefined
  },
}

function imagePart({ url }: ImageSource) {
  return { type: 'image_url', image_url: { url } }
}

function urlIn(part: unknown): unknown {
  const holder = isRecord(part) ? part['image_url'] : undefined
  return isRecord(holder) ? holder['url'] : holder
}
