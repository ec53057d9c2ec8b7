import type { InlinedSource } from '#data-plane/call.ts'
import type { Content } from '#data-plane/wires/content.ts'
import { newContent, noteCacheMarks, noteDocument, noteKind, noteSource } from '#data-plane/wires/content.ts'
import { AppError } from '#shared/errors.ts'
import { isRecord } from '#shared/json-members.ts'

/** Limits of a conversation. */
const MAX_MESSAGES = 10_000
const MAX_PARTS = 2_000
const MAX_TEXT_CHARS = 2_097_152
const ROLES: ReadonlySet<unknown> = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'function'])

const IMAGE_PARTS: ReadonlySet<string> = new Set(['image_url', 'input_image', 'image', 'image_file'])

const FILE_PARTS: ReadonlySet<string> = new Set(['file', 'input_file'])

/** Parts of words alone. */
const WORD_PARTS: ReadonlySet<string> = new Set(['refusal', 'thinking', 'reasoning', 'input_text', 'output_text'])

/**
 * Checks the messages of a chat request and counts the parts other than text: images, and the characters of inlined
 * data, which do not become tokens one by one. Nothing is copied: messages are forwarded unchanged.
 */
export function checkMessages(messages: unknown, source: Pick<InlinedSource, 'hasStandIns'>): Content {
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalid('messages must be a list of at least one message.')
  if (messages.length > MAX_MESSAGES) throw invalid(`messages must have at most ${MAX_MESSAGES} entries.`)
  const content = newContent(source)
  for (let index = 0; index < messages.length; index++) checkMessage(messages[index], index, content)
  return content
}

function checkMessage(message: unknown, index: number, content: Content): void {
  if (!isRecord(message)) throw invalid('A message must be an object.', `messages[${index}]`)
  const role = message['role']
  if (!ROLES.has(role)) throw invalid('The role of a message is not known.', `messages[${index}].role`)
  noteCacheMarks(content, message, 'messages')
  const body = message['content']
  // An assistant's turn may consist of calls alone.
  const mayBeEmpty = role === 'assistant' && (body === null || body === undefined)
  if (typeof body === 'string') checkText(body, index, content)
  else if (Array.isArray(body)) checkParts(body, index, content, role === 'user')
  else if (!mayBeEmpty) throw invalid('content must be a text or a list of parts.', `messages[${index}].content`)
}

function checkText(text: string, index: number, content: Content): void {
  if (text.length > MAX_TEXT_CHARS) {
    throw new AppError('request_too_large', {
      message: `A text of a message must have at most ${MAX_TEXT_CHARS} characters.`,
      param: `messages[${index}].content`,
    })
  }
  content.spokenChars += text.length
}

function checkParts(parts: readonly unknown[], index: number, content: Content, isUsers: boolean): void {
  const param = `messages[${index}].content`
  if (parts.length > MAX_PARTS) throw invalid(`A message has at most ${MAX_PARTS} parts.`, param)
  for (const part of parts) {
    if (!isRecord(part) || typeof part['type'] !== 'string') throw invalid('A part needs a type.', param)
    noteCacheMarks(content, part, param)
    const text = part['text']
    if (part['type'] === 'text') {
      if (typeof text !== 'string') throw invalid('A text part needs a text.', param)
      checkText(text, index, content)
    } else if (IMAGE_PARTS.has(part['type'])) {
      content.images++
      content.inlinedChars += checkImage(part, param, content)
    } else if (!WORD_PARTS.has(part['type'])) {
      content.isOpenEnded = true
      if (FILE_PARTS.has(part['type'])) {
        checkFile(part, param)
        noteDocument(content, undefined)
      }
      // Sound and video: only sellers of this protocol receive such parts.
      else if (isUsers && typeof text !== 'string') noteKind(content, 'media')
    }
  }
}

/** Records the cache marks on tools, and within them as some clients have it. */
export function noteToolMarks(tools: unknown, content: Content): void {
  if (!Array.isArray(tools)) return
  for (const tool of tools) {
    if (!isRecord(tool)) continue
    noteCacheMarks(content, tool, 'tools')
    if (isRecord(tool['function'])) noteCacheMarks(content, tool['function'], 'tools.function')
  }
}

/** Characters of inlined data. The URL is forwarded unfetched; only its presence is checked. */
function checkImage(part: Readonly<Record<string, unknown>>, param: string, content: Content): number {
  const image = part['image_url']
  const url = isRecord(image) ? image['url'] : image
  if (typeof url === 'string' && url !== '') {
    noteSource(content, url)
    return url.startsWith('data:') ? content.lengthOf(url) : 0
  }
  const places = [part, image, part['image'], part['image_file']]
  if (places.some((place) => isRecord(place) && place['file_id'] !== undefined)) {
    throw new AppError('unresolvable_file_reference', { param })
  }
  throw invalid('An image part needs image_url.url.', param)
}

/** A file must come with its data or its URL: an id is valid at one provider and one of its accounts only. */
function checkFile(part: Readonly<Record<string, unknown>>, param: string): void {
  const file = isRecord(part['file']) ? part['file'] : part
  const isHere = file['file_data'] !== undefined || file['file_url'] !== undefined
  if (file['file_id'] !== undefined && !isHere) throw new AppError('unresolvable_file_reference', { param })
}

function invalid(message: string, param = 'messages'): AppError {
  return new AppError('invalid_request', { message, param })
}
