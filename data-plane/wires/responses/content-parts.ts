import type { Content } from '#data-plane/wires/content.ts'
import { noteDocument, noteSource } from '#data-plane/wires/content.ts'
import { wordOf } from '#data-plane/wires/sampling.ts'
import { AppError } from '#shared/errors.ts'
import { invalidMember } from '#shared/invalid-member.ts'
import { isRecord } from '#shared/json-members.ts'
import type {
  DataSource,
  FilePart,
  ImagePart,
  TextPart,
  UrlSource,
} from '#shared/protocols/middle-form/conversation.ts'
import { readDataUrl } from '#shared/protocols/middle-form/conversation.ts'

const MAX_PARTS = 2_000
const MAX_TEXT_CHARS = 2_097_152

export type SaidPart = TextPart | ImagePart | FilePart

type Json = Readonly<Record<string, unknown>>

/** Parses a text or a list of parts and counts its content. Throws `invalid_request`, `unresolvable_file_reference`. */
export function readParts(value: unknown, param: string, content: Content): SaidPart[] {
  if (typeof value === 'string') return [textPart(value, param, content)]
  if (!Array.isArray(value) || value.length > MAX_PARTS) {
    throw invalidMember(param, `${param} must be a text or a list of up to ${MAX_PARTS} parts.`)
  }
  return value.map((part: unknown, index) => readPart(part, `${param}[${index}]`, content))
}

/** The same for a list in which only texts make sense. */
export function readTexts(value: unknown, param: string, content: Content): TextPart[] {
  return readParts(value, param, content).map((part) => {
    if (part.kind !== 'text') throw invalidMember(param, 'Only texts are accepted here.')
    return part
  })
}

function readPart(part: unknown, param: string, content: Content): SaidPart {
  if (!isRecord(part)) throw invalidMember(param, 'A part must be an object.')
  switch (part['type']) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return textPart(part['text'], param, content)
    case 'refusal':
      return textPart(part['refusal'], param, content)
    case 'input_image':
      return imagePart(part, param, content)
    case 'input_file':
      content.isOpenEnded = true
      return filePart(part, param, content)
    default:
      throw invalidMember(
        `${param}.type`,
        'A part must be input_text, input_image, input_file, output_text or refusal.',
      )
  }
}

function textPart(text: unknown, param: string, content: Content): TextPart {
  if (typeof text !== 'string') throw invalidMember(param, 'A text part needs a text.')
  if (text.length > MAX_TEXT_CHARS) {
    throw new AppError('request_too_large', {
      message: `A text must have at most ${MAX_TEXT_CHARS} characters.`,
      param,
    })
  }
  content.spokenChars += text.length
  return { kind: 'text', text }
}

/** An image by URL, which is never fetched here, or inlined. */
function imagePart(part: Json, param: string, content: Content): ImagePart {
  const url = wordOf(part['image_url'])
  if (url === undefined) {
    if (wordOf(part['file_id']) !== undefined) throw new AppError('unresolvable_file_reference', { param })
    throw invalidMember(`${param}.image_url`, 'An image needs an image_url.')
  }
  content.images++
  noteSource(content, url)
  if (url.startsWith('data:')) content.inlinedChars += content.lengthOf(url)
  const detail = wordOf(part['detail'])
  return { kind: 'image', source: sourceOf(url), ...(detail === undefined ? {} : { detail }) }
}

function filePart(part: Json, param: string, content: Content): FilePart {
  const url = wordOf(part['file_url'])
  const data = wordOf(part['file_data'])
  if (url === undefined && data === undefined) {
    if (wordOf(part['file_id']) !== undefined) {
      throw new AppError('unresolvable_file_reference', {
        message: 'A file that is referenced only by its id cannot be resolved here.',
        param,
      })
    }
    throw invalidMember(param, 'A file needs file_data or a file_url.')
  }
  const name = wordOf(part['filename'])
  const source = url === undefined ? inlined(data ?? '') : sourceOf(url)
  noteDocument(content, source)
  return { kind: 'file', source, ...(name === undefined ? {} : { name }) }
}

function sourceOf(url: string): DataSource | UrlSource {
  return readDataUrl(url) ?? { kind: 'url', url }
}

/** Data with its type in front, or bare. Bare data belongs to a document. */
function inlined(data: string): DataSource {
  return readDataUrl(data) ?? { kind: 'data', mediaType: 'application/pdf', data }
}
