import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import type { GivenImage, ImageAnswer } from '#shared/protocols/image-codec.ts'

/** The most images that are read from one answer. */
const MAX_IMAGES = 64
const DATA_URL = /^data:([\w.+/-]{1,100})(?:;[\w.+=-]{1,100})*;base64,/
/** Members that describe all images of an answer. */
const TOLD = ['background', 'output_format', 'quality', 'size'] as const
const MAX_WORD_CHARS = 64
const MAX_PROMPT_CHARS = 32_768

/** Reads the list of images in an answer of OpenAI's protocol or of a similar one. */
export function readImageList(body: JsonObject): ImageAnswer | undefined {
  return readImages(body['data'], body)
}

/** Reads a list of images, each with bytes or an address, and the members of the answer that describe all of them. */
export function readImages(list: unknown, body: JsonObject): ImageAnswer | undefined {
  if (!Array.isArray(list) || list.length > MAX_IMAGES) return undefined
  const images: GivenImage[] = []
  for (const entry of list) {
    const image = isRecord(entry) ? readPicture(entry) : undefined
    if (image === undefined) return undefined
    images.push(image)
  }
  return { images, usage: body['usage'], facts: imageFacts(body) }
}

/** Reads an object that contains one image. Undefined when it contains none. */
export function readPicture(entry: JsonObject): GivenImage | undefined {
  const { b64_json: base64, url, revised_prompt: revised, width, height } = entry
  const picture = typeof base64 === 'string' && base64 !== '' ? pictureAt(base64, 'base64') : pictureAt(url, 'url')
  if (picture === undefined) return undefined
  const image: { -readonly [Member in keyof GivenImage]: GivenImage[Member] } = picture
  if (typeof revised === 'string' && revised.length <= MAX_PROMPT_CHARS) image.revisedPrompt = revised
  if (isSide(width) && isSide(height)) {
    image.width = width
    image.height = height
  }
  return image
}

/** An image in a text: a URL, a `data:` URL, or plain base64 where the form allows it. */
export function pictureAt(text: unknown, form: 'url' | 'base64'): GivenImage | undefined {
  if (typeof text !== 'string' || text === '') return undefined
  const head = DATA_URL.exec(text)
  if (head !== null) return { base64: text.slice(head[0].length), contentType: (head[1] ?? '').toLowerCase() }
  if (text.startsWith('data:')) return undefined
  return form === 'url' ? { url: text } : { base64: text }
}

function isSide(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 && value <= 65_536
}

/** Reads the members of an answer that describe all its images. */
export function imageFacts(body: JsonObject): Readonly<Record<string, string>> {
  const facts: Record<string, string> = {}
  for (const name of TOLD) {
    const value = body[name]
    if (typeof value === 'string' && value !== '' && value.length <= MAX_WORD_CHARS) facts[name] = value
  }
  return facts
}
