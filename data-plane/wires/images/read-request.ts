import type { InlinedSource, RawRequest } from '#data-plane/call.ts'
import { mustBe } from '#data-plane/wires/fields.ts'
import type { Form, FormFile } from '#data-plane/wires/form.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { ROUTING_FIELDS, readRouting } from '#data-plane/wires/hints.ts'
import { readJsonBody, readModelName } from '#data-plane/wires/json-body.ts'
import { AppError } from '#shared/errors.ts'
import type { ImageQuality, ImageShape, Resolution } from '#shared/images.ts'
import { IMAGE_QUALITIES, MAX_SIDE, MIN_SIDE, RESOLUTIONS, readSize } from '#shared/images.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven } from '#shared/json-members.ts'
import type { ImageAsk, ImageFormat } from '#shared/protocols/image-codec.ts'
import { membersOfForm } from './form-request.ts'
import { readSources } from './sources.ts'

export type ImageRequest = Routing & {
  readonly model: string
  readonly ask: ImageAsk
  /** Where the data of its sources is. */
  readonly inlined: InlinedSource
  /** The form and its pictures, for a request that came as one. */
  readonly upload: { readonly form: Form; readonly files: readonly FormFile[] } | undefined
}

const MAX_PROMPT_CHARS = 32_768
const MAX_IMAGES = 10
/** Members that are read here. What is beside them goes to providers that know it. */
const READ: ReadonlySet<string> = new Set([
  ...['model', 'prompt', 'n', 'size', 'resolution', 'quality', 'response_format', 'stream', 'partial_images'],
  ...['image', 'image_url', 'images', 'input_images', 'mask', 'mask_url'],
])

/**
 * Reads a request for pictures. With a source it is an edit. Throws AppError: `invalid_json`, `invalid_request`, and
 * what {@link readSources} throws.
 */
export function readGeneration(raw: RawRequest): ImageRequest {
  const json = readJsonBody(raw, 'sources')
  return readRequest(json.body, raw, { inlined: json, sources: readSources(json.body, json), upload: undefined })
}

/** Reads a request for an edit, as JSON or as a form. Throws `image_required` where it has no source. */
export function readEdit(raw: RawRequest): ImageRequest {
  if ((raw.headers['content-type'] ?? '').toLowerCase().startsWith('multipart/')) {
    const { body, form, files } = membersOfForm(raw)
    return readRequest(body, raw, { inlined: NOTHING_INLINED, sources: [], upload: { form, files } })
  }
  const request = readGeneration(raw)
  if (request.ask.sources.length === 0) throw new AppError('image_required', { param: 'image' })
  return request
}

const NOTHING_INLINED: InlinedSource = { bytes: Buffer.alloc(0), hasStandIns: false }

type Given = Pick<ImageRequest, 'inlined' | 'upload'> & Pick<ImageAsk, 'sources'>

function readRequest(body: JsonObject, raw: RawRequest, { inlined, upload, sources }: Given): ImageRequest {
  const model = readModelName(body['model'])
  const prompt = readPrompt(body['prompt'])
  const isEdit = sources.length > 0 || upload !== undefined
  refuseStream(body)
  return {
    model,
    inlined,
    upload,
    ask: {
      prompt,
      count: readCount(body['n'], isEdit),
      ...readShape(body),
      sources,
      format: readFormat(body['response_format']),
      extras: extrasOf(body),
    },
    ...readRouting(body, raw),
  }
}

function readPrompt(prompt: unknown): string {
  if (typeof prompt === 'string' && prompt.trim() !== '' && prompt.length <= MAX_PROMPT_CHARS) return prompt
  throw mustBe('prompt', `a text of 1 to ${MAX_PROMPT_CHARS} characters`)
}

/** An edit makes one picture. */
function readCount(value: unknown, isEdit: boolean): number {
  if (!isGiven(value)) return 1
  const most = isEdit ? 1 : MAX_IMAGES
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value
  throw mustBe('n', isEdit ? '1 for an edit' : `a whole number from 1 to ${MAX_IMAGES}`)
}

function readShape(body: JsonObject): ImageShape {
  const { size: text, resolution: tier, quality } = body
  const size = isGiven(text) ? (typeof text === 'string' ? readSize(text) : undefined) : {}
  if (size === undefined) {
    throw mustBe('size', `WIDTHxHEIGHT with sides from ${MIN_SIDE} to ${MAX_SIDE} pixels, "auto", 1K, 2K or 4K`)
  }
  const resolution = isGiven(tier) ? readResolution(tier) : undefined
  if (resolution !== undefined && size.resolution !== undefined && size.resolution !== resolution) {
    throw mustBe('resolution', 'the same as size')
  }
  return { size: size.size, resolution: resolution ?? size.resolution, quality: readQuality(quality) }
}

function readResolution(value: unknown): Resolution {
  const tier = RESOLUTIONS.find((name) => typeof value === 'string' && name === value.toUpperCase())
  if (tier === undefined) throw mustBe('resolution', `one of ${RESOLUTIONS.join(', ')}`)
  return tier
}

function readQuality(value: unknown): ImageQuality | undefined {
  if (!isGiven(value)) return undefined
  const quality = IMAGE_QUALITIES.find((name) => name === value)
  if (quality === undefined) throw mustBe('quality', `one of ${IMAGE_QUALITIES.join(', ')}`)
  return quality
}

function readFormat(value: unknown): ImageFormat | undefined {
  if (!isGiven(value)) return undefined
  if (value !== 'url' && value !== 'b64_json') throw mustBe('response_format', '"url" or "b64_json"')
  return value
}

/** Throws `model_capability_unsupported` for a stream: no seller's pictures come in parts yet. */
function refuseStream({ stream, partial_images: partial }: JsonObject): void {
  if (isGiven(stream) && typeof stream !== 'boolean') throw mustBe('stream', 'true or false')
  const param = stream === true ? 'stream' : isGiven(partial) && partial !== 0 ? 'partial_images' : undefined
  if (param === undefined) return
  throw new AppError('model_capability_unsupported', {
    message: 'Pictures come whole: no seller sends them in parts yet.',
    param,
    detail: { capability: 'image_streaming' },
  })
}

function extrasOf(body: JsonObject): JsonObject {
  const extras: Record<string, unknown> = {}
  for (const name in body) {
    if (!READ.has(name) && !ROUTING_FIELDS.has(name) && isGiven(body[name])) extras[name] = body[name]
  }
  return extras
}
