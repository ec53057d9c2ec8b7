import type { InlinedSource, RawRequest } from '#data-plane/call.ts'
import type { Form, FormFile } from '#data-plane/wires/form.ts'
import type { Routing } from '#data-plane/wires/hints.ts'
import { readRouting } from '#data-plane/wires/hints.ts'
import { readJsonBody, readModelName } from '#data-plane/wires/json-body.ts'
import type { Named } from '#data-plane/wires/media-members.ts'
import { extrasOf, memberOf, readPrompt, refuseMembers, SIDES, sizeMember } from '#data-plane/wires/media-members.ts'
import { AppError } from '#shared/errors.ts'
import type { ImageQuality, ImageShape, Resolution } from '#shared/images.ts'
import { IMAGE_QUALITIES, MAX_SIDE, MIN_SIDE, RESOLUTIONS, readSize, tierOf } from '#shared/images.ts'
import { mustBe } from '#shared/invalid-member.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven } from '#shared/json-members.ts'
import { MEDIA_MEMBERS, namesRead } from '#shared/media-members.ts'
import { IMAGE_MEMBERS } from '#shared/members/of-media.ts'
import type { AskedMembers } from '#shared/members/read-members.ts'
import { readMembers } from '#shared/members/read-members.ts'
import type { ImageAsk, ImageFormat } from '#shared/protocols/image-codec.ts'
import { membersOfForm } from './form-request.ts'
import { readSources } from './sources.ts'

export type ImageRequest = Routing & {
  readonly model: string
  readonly ask: ImageAsk
  /** The place of its sources' data. */
  readonly inlined: InlinedSource
  /** The family of a stream's events, by the requested path. */
  readonly family: 'image_generation' | 'image_edit'
  /** The form and its images, for a form request. */
  readonly upload: { readonly form: Form; readonly files: readonly FormFile[] } | undefined
  readonly askedMembers: AskedMembers
}

const MAX_IMAGES = 10
/** Most partial images of one stream, as at OpenAI. */
const MAX_PARTIALS = 3
const MEMBERS = MEDIA_MEMBERS.image
/** Members that are parsed here. All others go to providers that support them. */
const READ: ReadonlySet<string> = new Set([
  'model',
  'prompt',
  'stream',
  'partial_images',
  ...namesRead(MEMBERS),
  ...SIDES,
])

/**
 * Parses a request for images. With a source it is an edit. Throws AppError: `invalid_json`, `invalid_request`, and the
 * errors of {@link readSources}.
 */
export function readGeneration(raw: RawRequest): ImageRequest {
  const json = readJsonBody(raw, 'sources')
  const sources = readSources(json.body, json)
  return readRequest(json.body, raw, { family: 'image_generation', inlined: json, sources, upload: undefined })
}

/** Parses a request for an edit, as JSON or as a form. Throws `image_required` without a source. */
export function readEdit(raw: RawRequest): ImageRequest {
  if ((raw.headers['content-type'] ?? '').toLowerCase().startsWith('multipart/')) {
    const { body, form, files } = membersOfForm(raw)
    const upload = { form, files }
    return readRequest(body, raw, { family: 'image_edit', inlined: NOTHING_INLINED, sources: [], upload })
  }
  const request = readGeneration(raw)
  if (request.ask.sources.length === 0) throw new AppError('image_required', { param: 'image' })
  return { ...request, family: 'image_edit' }
}

const NOTHING_INLINED: InlinedSource = { bytes: Buffer.alloc(0), hasStandIns: false }

type ImageParts = Pick<ImageRequest, 'family' | 'inlined' | 'upload'> & Pick<ImageAsk, 'sources'>

function readRequest(
  body: JsonObject,
  raw: RawRequest,
  { family, inlined, upload, sources }: ImageParts,
): ImageRequest {
  const model = readModelName(body['model'])
  const prompt = readPrompt(body['prompt'])
  const isEdit = sources.length > 0 || upload !== undefined
  refuseMembers(body, MEMBERS)
  const count = readCount(memberOf(body, MEMBERS.read.n), isEdit)
  const { size, resolution, quality } = readShape(body)
  const format = readFormat(memberOf(body, MEMBERS.read.response_format))
  const stream = readStream(body, count)
  const ratio = memberOf(body, MEMBERS.read.aspect_ratio).value
  const extras = { ...extrasOf(body, READ), ...(isGiven(ratio) && { aspect_ratio: ratio }) }
  const { hints, floorPercents, maxCostMicro } = readRouting(body, raw)
  return {
    model,
    family,
    inlined,
    upload,
    askedMembers: readMembers(IMAGE_MEMBERS, body),
    ask: { prompt, count, size, resolution, quality, sources, format, stream, extras },
    hints,
    floorPercents,
    maxCostMicro,
  }
}

/** An edit makes one image. */
function readCount({ name, value }: Named, isEdit: boolean): number {
  if (!isGiven(value)) return 1
  const most = isEdit ? 1 : MAX_IMAGES
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= most) return value
  throw mustBe(name, isEdit ? '1 for an edit' : `a whole number from 1 to ${MAX_IMAGES}`)
}

function readShape(body: JsonObject): ImageShape {
  const { resolution: tier, quality } = body
  const { name, value: text } = sizeMember(body, MEMBERS.read.size)
  const size = isGiven(text) ? (typeof text === 'string' ? readSize(text) : undefined) : {}
  if (size === undefined) {
    throw mustBe(name, `WIDTHxHEIGHT with sides from ${MIN_SIDE} to ${MAX_SIDE} pixels, "auto", 1K, 2K or 4K`)
  }
  const resolution = isGiven(tier) ? readResolution(tier) : undefined
  // Some providers take the size and others the tier, so both must agree.
  const { resolution: tierOfSize = size.size && tierOf({ size: size.size, resolution: undefined }) } = size
  if (resolution !== undefined && tierOfSize !== undefined && tierOfSize !== resolution) {
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

function readFormat({ name, value }: Named): ImageFormat | undefined {
  if (!isGiven(value)) return undefined
  if (value !== 'url' && value !== 'b64_json') throw mustBe(name, '"url" or "b64_json"')
  return value
}

/** A stream makes one image, because its events do not say to which of several images they belong. */
function readStream({ stream, partial_images: partials }: JsonObject, count: number): ImageAsk['stream'] {
  if (isGiven(stream) && typeof stream !== 'boolean') throw mustBe('stream', 'true or false')
  const partialImages = isGiven(partials) ? partials : 0
  if (
    typeof partialImages !== 'number' ||
    !Number.isInteger(partialImages) ||
    partialImages < 0 ||
    partialImages > MAX_PARTIALS
  ) {
    throw mustBe('partial_images', `a whole number from 0 to ${MAX_PARTIALS}`)
  }
  if (stream !== true) {
    if (partialImages > 0) throw mustBe('partial_images', '0 without stream')
    return undefined
  }
  if (count > 1) throw mustBe('n', '1 for a stream')
  return { partials: partialImages }
}
