import { tierOf } from '#shared/images.ts'
import { invalidMember } from '#shared/invalid-member.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import { isErrorFree } from '#shared/protocols/answers/model-list.ts'
import type { GivenImage, ImageAsk, ImageCodec } from '#shared/protocols/image-codec.ts'
import { pictureAt } from '#shared/protocols/middle-form/image-list.ts'
import { takeMembers } from '#shared/protocols/middle-form/image-members.ts'
import { PICTURE_RATIOS, ratioOf } from '#shared/protocols/middle-form/picture-ratio.ts'
import type { ModelQuestion } from '#shared/protocols/protocol.ts'
import { JSON_REQUEST } from '#shared/protocols/provider-request.ts'
import { blockedPrompt } from './blocked-prompt.ts'
import { typeIn, UNTYPED } from './contents.ts'
import { modelPath } from './encode.ts'
import { FIRST_WITH_LEVELS, generationOf, nameOf } from './generation.ts'
import { mergeGeminiUsage } from './usage.ts'

/** Members of a request for pictures that a conversation has as well. */
const IN_CONFIG: ReadonlySet<string> = new Set(['seed', 'temperature'])
/** The ratios of Imagen, and its most pictures a call. */
const IMAGEN_RATIOS: ReadonlySet<string> = new Set(['1:1', '3:4', '4:3', '9:16', '16:9'])
const MAX_SAMPLES = 4
const DATA_URL = /^data:([^;,]{1,100});base64,/

/**
 * Pictures of Gemini's own models (ai.google.dev/gemini-api/docs/image-generation): the prompt is a turn of the user,
 * and a part of the answer holds the picture. Such a model makes one a call.
 */
export const geminiImages: ImageCodec = {
  encode(ask, plan) {
    if (ask.count > 1) throw invalidMember('n', 'The provider makes one image per call.')
    const isTiered = (generationOf(nameOf(plan)) ?? 0) >= FIRST_WITH_LEVELS
    const tier = tierOf(ask)
    if (tier !== '1K' && !isTiered) throw invalidMember('size', 'The provider makes pictures of about a megapixel.')
    const { ratio, leftOut, extras } = shapeOf(ask, PICTURE_RATIOS)
    const { members, adaptedParams } = takeMembers(plan, extras, (name) => !IN_CONFIG.has(name))
    const takenMembers = Object.entries(members).filter(([name]) => IN_CONFIG.has(name))
    const unknownNames = Object.keys(members).filter((name) => !IN_CONFIG.has(name))
    const imageConfig = {
      ...(ratio !== undefined && { aspectRatio: ratio }),
      ...(tier !== '1K' && { imageSize: tier }),
    }
    const parts = [{ text: ask.prompt }, ...ask.sources.map(({ url }) => sourcePart(url))]
    const body = {
      contents: [{ role: 'user', parts }],
      generationConfig: {
        responseModalities: ['TEXT', 'IMAGE'],
        ...Object.fromEntries(takenMembers),
        ...(Object.keys(imageConfig).length > 0 && { imageConfig }),
      },
    }
    return {
      ...JSON_REQUEST,
      path: modelPath(plan.offer.providerModel, 'generateContent'),
      body: JSON.stringify(body),
      adaptedParams: [...leftOut, ...adaptedParams, ...unknownNames],
    }
  },
  read(body) {
    const { candidates, usageMetadata: usage } = body
    const first: unknown = Array.isArray(candidates) ? candidates[0] : undefined
    if (!isRecord(first)) return undefined
    const content = first['content']
    const parts: unknown = isRecord(content) ? content['parts'] : undefined
    // A model that answered in text alone has made no picture. Pictures in its thoughts are no answer.
    const pictures = (Array.isArray(parts) ? parts : []).filter(isPicture)
    const images = pictures.map(({ inlineData }) => pictureAt(inlineData['data'], 'base64'))
    return images.every((image) => image !== undefined) ? { images, usage, facts: {} } : undefined
  },
  failureIn: ({ promptFeedback }) => blockedPrompt(promptFeedback),
  mergeUsage: mergeGeminiUsage,
}

/** Pictures of Imagen (ai.google.dev/gemini-api/docs/imagen), sold by the piece. */
export const imagen: ImageCodec = {
  encode(ask, plan) {
    if (ask.count > MAX_SAMPLES) throw invalidMember('n', `The provider makes up to ${MAX_SAMPLES} pictures a call.`)
    const tier = tierOf(ask)
    if (tier === '4K') throw invalidMember('size', 'The provider makes pictures of up to 2K.')
    if (ask.sources.length > 0) throw invalidMember('image', 'The provider makes pictures from words alone.')
    const { ratio, leftOut, extras } = shapeOf(ask, IMAGEN_RATIOS)
    const parameters = {
      sampleCount: ask.count,
      ...(ratio !== undefined && { aspectRatio: ratio }),
      ...(tier !== '1K' && { sampleImageSize: tier }),
    }
    return {
      ...JSON_REQUEST,
      path: modelPath(plan.offer.providerModel, 'predict'),
      body: JSON.stringify({ instances: [{ prompt: ask.prompt }], parameters }),
      adaptedParams: [...leftOut, ...Object.keys(extras)],
    }
  },
  read({ predictions = [] }) {
    if (!Array.isArray(predictions)) return undefined
    // A picture that was filtered has a reason in its place.
    const pictures = predictions.filter(isRecord).filter((entry) => entry['bytesBase64Encoded'] !== undefined)
    const images: (GivenImage | undefined)[] = pictures.map((entry) => pictureAt(entry['bytesBase64Encoded'], 'base64'))
    return images.every((image) => image !== undefined) ? { images, usage: undefined, facts: {} } : undefined
  },
}

/**
 * The free probe of an image model: Imagen refuses a request without a prompt, and a chat model counts the tokens of a
 * prompt.
 */
export const pictureProbe: ModelQuestion = {
  maxOutputTokens: null,
  request(model) {
    const isImagen = model.includes('imagen')
    const body = isImagen
      ? { instances: [{}], parameters: { sampleCount: 1 } }
      : { contents: [{ role: 'user', parts: [{ text: 'hi' }] }] }
    return {
      ...JSON_REQUEST,
      path: modelPath(model, isImagen ? 'predict' : 'countTokens'),
      body: JSON.stringify(body),
    }
  },
  isAnswer: (status, text) => isErrorFree(status, text) || (status === 400 && /\bprompt\b/i.test(text)),
}

/** The ratio that a request asks for, and the members that Imagen does not have. Throws for a size of another ratio. */
function shapeOf({ size, quality, extras: allExtras }: ImageAsk, ratios: ReadonlySet<string>) {
  const { aspect_ratio: aspectRatio, ...extras } = allExtras
  const ofSize = size && ratioOf(size)
  if (size !== undefined && (ofSize === undefined || !ratios.has(ofSize))) {
    throw invalidMember('size', `The provider makes pictures of the ratios ${[...ratios].join(', ')}.`)
  }
  const knownRatio = typeof aspectRatio === 'string' && ratios.has(aspectRatio) ? aspectRatio : undefined
  const ratio = ofSize ?? knownRatio
  const isLost = aspectRatio !== undefined && aspectRatio !== null && ratio !== aspectRatio
  return {
    ratio,
    extras,
    leftOut: [...(isLost ? ['aspect_ratio'] : []), ...(quality === undefined ? [] : ['quality'])],
  }
}

/** Data in a URL, which may be a stand-in, or an address that the provider fetches. */
function sourcePart(url: string): object {
  const head = DATA_URL.exec(url)
  if (head === null) {
    const mimeType = typeIn(url)
    if (mimeType?.startsWith('image/') !== true) throw invalidMember('image', UNTYPED)
    return { fileData: { mimeType, fileUri: url } }
  }
  return { inlineData: { mimeType: head[1], data: url.slice(head[0].length) } }
}

function isPicture(part: unknown): part is { readonly inlineData: JsonObject } {
  return isRecord(part) && isRecord(part['inlineData']) && part['thought'] !== true
}
