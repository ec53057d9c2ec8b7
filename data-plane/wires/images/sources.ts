import type { InlinedSource } from '#data-plane/call.ts'
import { firstData, fullLength } from '#data-plane/wires/inlined-data.ts'
import { AppError } from '#shared/errors.ts'
import { isGiven, isRecord } from '#shared/json-members.ts'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import type { ImageSource } from '#shared/protocols/image-codec.ts'

/** Most sources of one request. */
export const MAX_SOURCES = 8
/** The longest `data:` URL of one source: an image of some 18 MB. */
const MAX_DATA_CHARS = 25_165_824
const MAX_URL_CHARS = 8_192
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/
const HTTPS = /^https:\/\/[^\s"<>\\^`{|}]+$/i
const IMAGE_DATA = /^data:image\/[a-z0-9.+-]{1,40};base64,/i
/** Members that hold one source or several, in order of precedence, and those of a mask. */
const { source: HOLDERS, mask: MASKS } = MEDIA_MEMBERS.image.read
/** Bytes of an image that identify its kind, in base64. */
const HEAD_CHARS = 16
const ROLES: ReadonlySet<unknown> = new Set(['start', 'base', 'reference'])

type Body = Readonly<Record<string, unknown>>

/**
 * The initial images of a request, under all names that clients use for them. The first is the base. The market
 * fetches none of them. Throws AppError: `mask_not_supported`, `too_many_input_images`, `invalid_image_input`,
 * `unresolvable_file_reference`, `image_required`.
 */
export function readSources(body: Body, source: InlinedSource): readonly ImageSource[] {
  refuseMask(body)
  const sources: ImageSource[] = []
  for (const name of HOLDERS) {
    const value = body[name]
    if (!isGiven(value)) continue
    if (value === '' || isEmptyList(name, value)) {
      throw new AppError('image_required', { message: `${name} is empty.`, param: name })
    }
    const entries = Array.isArray(value) ? value : [value]
    for (const [place, entry] of entries.entries()) {
      if (sources.length === MAX_SOURCES) throw new AppError('too_many_input_images', { param: name })
      const param = Array.isArray(value) ? `${name}[${place}]` : name
      sources.push(readSource(entry, { param, source, isFirst: sources.length === 0 }))
    }
  }
  return sources
}

/** Members for one image. An empty list is a mistake there. In other members an empty list means no image. */
const SINGLE: ReadonlySet<string> = new Set(['image_url', 'end_image_url', 'input_reference'])

/** True for an empty list in a member for one image. */
export function isEmptyList(name: string, value: unknown): boolean {
  return SINGLE.has(name) && Array.isArray(value) && value.length === 0
}

/** Throws `mask_not_supported` for a request with a mask. */
export function refuseMask(body: Body): void {
  for (const name of MASKS) {
    if (isGiven(body[name])) throw new AppError('mask_not_supported', { param: name })
  }
}

type Where = { readonly param: string; readonly source: InlinedSource; readonly isFirst: boolean }

function readSource(entry: unknown, where: Where): ImageSource {
  const { param, source, isFirst } = where
  const role = isRecord(entry) ? entry['role'] : undefined
  if (isGiven(role) && !ROLES.has(role)) {
    throw new AppError('invalid_image_input', { message: `${param}.role must be "start" or "reference".`, param })
  }
  return { url: readSourceUrl(entry, param, source), role: isFirst ? 'start' : 'reference' }
}

/**
 * The URL of an image: a text, or an object with one under a name that some client uses. The market does not fetch the
 * URL. Throws AppError: `invalid_image_input`, `unresolvable_file_reference`, `request_too_large`.
 */
export function readSourceUrl(entry: unknown, param: string, source: InlinedSource): string {
  const url = urlOf(entry)
  if (typeof url !== 'string') {
    if (isRecord(entry) && (isGiven(entry['file_id']) || isGiven(entry['file']))) {
      throw new AppError('unresolvable_file_reference', { param })
    }
    throw new AppError('invalid_image_input', { param })
  }
  checkUrl(url, param, source)
  return url
}

function urlOf(entry: unknown): unknown {
  if (!isRecord(entry)) return entry
  const { url, image_url: imageUrl } = entry
  return url ?? (isRecord(imageUrl) ? imageUrl['url'] : imageUrl)
}

function checkUrl(url: string, param: string, source: InlinedSource): void {
  if (HTTPS.test(url)) {
    if (url.length <= MAX_URL_CHARS && URL.canParse(url)) return
    throw new AppError('invalid_image_input', { message: `${param} is not a URL that can be read.`, param })
  }
  const head = IMAGE_DATA.exec(url)?.[0]
  if (head === undefined) throw new AppError('invalid_image_input', { param })
  if (fullLength(url) > MAX_DATA_CHARS) {
    throw new AppError('request_too_large', {
      message: `A source image has at most ${MAX_DATA_CHARS} characters as a data: URI.`,
      param,
    })
  }
  const first = firstData(url, head.length, HEAD_CHARS, source)
  if (first === undefined || !isPicture(Buffer.from(first, 'base64'))) {
    throw new AppError('invalid_image_input', { message: `${param} is not an image of a known type.`, param })
  }
}

/** True for base64 of an image of a known kind. Data that is not a stand-in is read to its end. */
export function holdsPicture(base64: string, source: InlinedSource): boolean {
  const first = firstData(base64, 0, HEAD_CHARS, source)
  const isWhole = fullLength(base64) !== base64.length || BASE64.test(base64)
  return first !== undefined && isWhole && isPicture(Buffer.from(first, 'base64'))
}

/** The first bytes of kinds of images, from their specifications: PNG, JPEG, GIF, BMP, TIFF. */
const MAGIC: readonly Buffer[] = [
  Buffer.from([0x89, 0x50, 0x4e, 0x47]),
  Buffer.from([0xff, 0xd8, 0xff]),
  Buffer.from('GIF8'),
  Buffer.from('BM'),
  Buffer.from([0x49, 0x49, 0x2a, 0x00]),
  Buffer.from([0x4d, 0x4d, 0x00, 0x2a]),
]

/** True for the beginning of an image. WebP has its name after its length, HEIC and AVIF after a box's length. */
export function isPicture(bytes: Buffer): boolean {
  if (MAGIC.some((magic) => bytes.subarray(0, magic.length).equals(magic))) return true
  const [first, second] = [bytes.toString('latin1', 0, 4), bytes.toString('latin1', 4, 8)]
  return second === 'ftyp' || (first === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP')
}

/** The largest image of a form: 18 MB, as in JSON. */
const MAX_FILE_BYTES = 18_874_368

/** Checks an image file of a form. Throws AppError: `request_too_large`, `invalid_image_input`. */
export function checkPictureFile(bytes: Buffer, param: string): void {
  if (bytes.length > MAX_FILE_BYTES) {
    throw new AppError('request_too_large', { message: `An image has at most ${MAX_FILE_BYTES} bytes.`, param })
  }
  if (!isPicture(bytes)) {
    throw new AppError('invalid_image_input', { message: 'A file is not an image of a known type.', param })
  }
}
