import { formatSize, squareOf } from '#shared/images.ts'
import type { JsonObject } from '#shared/json-members.ts'
import type { EncodePlan } from '#shared/protocols/encode-plan.ts'
import type { ImageAsk, ImageCodec } from '#shared/protocols/image-codec.ts'
import { imageFacts, readImageList, readPicture } from '#shared/protocols/middle-form/image-list.ts'
import { takeMembers } from '#shared/protocols/middle-form/image-members.ts'
import { EVENT_STREAM, JSON_REQUEST } from '#shared/protocols/provider-request.ts'

const GENERATIONS = '/images/generations'
const EDITS = '/images/edits'
const FORMAT = 'response_format'
/** Members that some models do not accept. Other members are always forwarded. */
const GATED: ReadonlySet<string> = new Set([
  'size',
  'resolution',
  'quality',
  'background',
  'output_format',
  'output_compression',
  'moderation',
  'style',
  'input_fidelity',
  'seed',
  'negative_prompt',
  'aspect_ratio',
])

/**
 * OpenAI's image API (platform.openai.com/docs/api-reference/images). An edit with sources in URLs goes as JSON, whose
 * `images` name them. An edit with files goes as a form, as official clients send it.
 */
export const openAiImages: ImageCodec = {
  encode(ask, plan) {
    const { members, adaptedParams } = membersOf(ask, plan)
    const { sources } = ask
    const isEdit = sources.length > 0
    const body: Record<string, unknown> = { model: plan.offer.providerModel, prompt: ask.prompt }
    if (isEdit) body['images'] = sources.map(({ url }) => ({ image_url: url }))
    for (const name in members) body[name] = members[name]
    return {
      path: isEdit ? EDITS : GENERATIONS,
      body: JSON.stringify(body),
      contentType: JSON_REQUEST.contentType,
      accept: acceptOf(ask),
      adaptedParams,
    }
  },
  form(ask, plan) {
    const { members, adaptedParams } = membersOf(ask, plan)
    const all: JsonObject = { model: plan.offer.providerModel.replace(/[\r\n]/g, ''), prompt: ask.prompt, ...members }
    const fields = Object.entries(all).map(([name, value]) => ({
      name,
      value: typeof value === 'string' ? value : JSON.stringify(value),
    }))
    return { path: EDITS, fields, fileName: 'image[]', accept: acceptOf(ask), adaptedParams }
  },
  read: readImageList,
  readEvent(event) {
    const kind = EVENT_KINDS.get(event['type'])
    if (kind === undefined) return { kind: 'other' }
    const image = readPicture(event)
    return image && { kind, image, facts: imageFacts(event), usage: event['usage'] }
  },
}

/** The events that contain an image, of generations and of edits. */
const EVENT_KINDS: ReadonlyMap<unknown, 'partial' | 'whole'> = new Map([
  ['image_generation.partial_image', 'partial'],
  ['image_generation.completed', 'whole'],
  ['image_edit.partial_image', 'partial'],
  ['image_edit.completed', 'whole'],
])

function acceptOf({ stream }: ImageAsk): string {
  return stream === undefined ? JSON_REQUEST.accept : EVENT_STREAM
}

/** All members but model, prompt and sources. */
function membersOf(ask: ImageAsk, plan: EncodePlan) {
  const { count, size, resolution, quality, format, stream, extras } = ask
  const { parameters } = plan.target.model
  // A model without resolution tiers gets the square size of the tier.
  const knowsTiers = parameters.includes('resolution')
  const square = size === undefined && resolution !== undefined && !knowsTiers ? squareOf(resolution) : size
  const bodyMembers: Record<string, unknown> = {
    n: count === 1 ? undefined : count,
    size: square && formatSize(square),
    resolution: knowsTiers ? resolution : undefined,
    quality,
    stream: stream && true,
    partial_images: stream?.partials,
  }
  for (const name in extras) bodyMembers[name] = extras[name]
  const { members, adaptedParams } = takeMembers(plan, bodyMembers, (name) => GATED.has(name))
  // Events contain image bytes only.
  if (stream !== undefined)
    return { members, adaptedParams: format === 'url' ? [...adaptedParams, FORMAT] : adaptedParams }
  // Models without this member have one answer form. The gateway converts it to the requested form.
  const takesFormat = parameters.length === 0 || parameters.includes(FORMAT)
  if (format !== undefined && takesFormat) members[FORMAT] = format
  return { members, adaptedParams }
}
