import type { Content } from '#data-plane/wires/content.ts'
import { noteCacheMarks, noteDocument, noteKind } from '#data-plane/wires/content.ts'
import { isSealed, MAX_SEALED_ID_CHARS, splitId } from '#data-plane/wires/turn-seal.ts'
import { AppError } from '#shared/errors.ts'
import { invalidMember } from '#shared/invalid-member.ts'
import { isRecord } from '#shared/json-members.ts'
import type { ProtocolName } from '#shared/protocols/index.ts'
import { checkOtherBlock, noteCitations } from './block-kinds.ts'
import { hasForeignCitations } from './citations.ts'

/** Limits of a conversation. */
const MAX_MESSAGES = 10_000
const MAX_BLOCKS = 2_000
const MAX_TEXT_CHARS = 2_097_152
const MAX_ID_CHARS = 256
/** The protocols of sellers that carry cache marks. */
const MARK_CARRIERS: readonly ProtocolName[] = ['messages', 'vertexclaude', 'bedrock']

type Json = Readonly<Record<string, unknown>>

/** Checks the turns of a request and counts their parts. Throws AppError that names the faulty member. */
export function checkMessages(messages: unknown, content: Content): void {
  if (!Array.isArray(messages) || messages.length === 0)
    throw invalidMember('messages', 'messages: a list of at least one.')
  if (messages.length > MAX_MESSAGES) throw invalidMember('messages', `messages: at most ${MAX_MESSAGES}.`)
  for (const [index, message] of messages.entries()) {
    const param = `messages.${index}`
    if (!isRecord(message)) throw invalidMember(param, `${param}: an object.`)
    const role = message['role']
    if (role === 'user' || role === 'assistant') checkContent(message['content'], `${param}.content`, content)
    else if (role === 'system') checkInstructions(message['content'], `${param}.content`, content)
    else throw invalidMember(`${param}.role`, `${param}.role: user, assistant or system.`)
  }
}

/** Checks `system`: a text, or a list of text blocks. */
export function checkSystem(system: unknown, content: Content): void {
  if (system !== undefined && system !== null) checkInstructions(system, 'system', content)
}

function checkInstructions(value: unknown, param: string, content: Content): void {
  if (typeof value === 'string' && value !== '') {
    checkText(value, param, content)
    return
  }
  if (!Array.isArray(value) || value.length > MAX_BLOCKS) throw invalidMember(param, `${param}: a text or text blocks.`)
  for (const [index, block] of value.entries()) {
    const at = `${param}.${index}`
    if (!isRecord(block) || block['type'] !== 'text') throw invalidMember(at, `${at}: a text block.`)
    noteCacheMarks(content, block, at, MARK_CARRIERS)
    checkText(block['text'], `${at}.text`, content)
  }
}

function checkContent(value: unknown, param: string, content: Content): void {
  if (typeof value === 'string') {
    checkText(value, param, content)
    return
  }
  if (!Array.isArray(value)) throw invalidMember(param, `${param}: a text or a list of blocks.`)
  if (value.length > MAX_BLOCKS) throw invalidMember(param, `${param}: at most ${MAX_BLOCKS} blocks.`)
  for (const [index, block] of value.entries()) {
    if (!isRecord(block)) throw invalidMember(`${param}.${index}`, `${param}.${index}: an object.`)
    checkBlock(block, `${param}.${index}`, content)
  }
}

function checkBlock(block: Json, param: string, content: Content): void {
  noteCacheMarks(content, block, param, MARK_CARRIERS)
  switch (block['type']) {
    case 'text':
      checkText(block['text'], `${param}.text`, content)
      if (hasForeignCitations(block)) content.hasForeignCitations = true
      break
    case 'image':
      content.images++
      checkSource(block['source'], `${param}.source`, content)
      break
    case 'document':
      noteCitations(block, content)
      checkSource(block['source'], `${param}.source`, content)
      if (isOpenEnded(block['source'])) noteDocument(content, block['source'])
      break
    case 'tool_use':
      checkCallId(block['id'], `${param}.id`, content)
      checkId(block['name'], `${param}.name`)
      if (!isRecord(block['input'])) throw invalidMember(`${param}.input`, `${param}.input: an object.`)
      break
    case 'tool_result':
      checkCallId(block['tool_use_id'], `${param}.tool_use_id`, content)
      if (block['content'] !== undefined && block['content'] !== null) {
        checkContent(block['content'], `${param}.content`, content)
      }
      break
    case 'thinking':
      checkText(block['thinking'], `${param}.thinking`, content)
      break
    case 'redacted_thinking':
      if (typeof block['data'] !== 'string') throw invalidMember(`${param}.data`, `${param}.data: a text.`)
      if (isSealed(block['data'])) content.hasSeals = true
      return
    case 'search_result':
      noteCitations(block, content)
      for (const name of ['title', 'source']) checkText(block[name], `${param}.${name}`, content)
      checkInstructions(block['content'], `${param}.content`, content)
      break
    case 'compaction':
      checkText(block['content'], `${param}.content`, content)
      noteKind(content, 'compaction')
      break
    default:
      if (checkOtherBlock(block, param, content)) return
      throw invalidMember(
        `${param}.type`,
        `${param}.type: text, image, document, search_result, tool_use, tool_result, thinking, redacted_thinking, ` +
          'or a block of a tool that runs at the maker.',
      )
  }
}

/** Records the cache marks on tools. */
export function noteToolMarks(tools: unknown, content: Content): void {
  if (!Array.isArray(tools)) return
  for (const tool of tools) if (isRecord(tool)) noteCacheMarks(content, tool, 'tools', MARK_CARRIERS)
}

function checkText(text: unknown, param: string, content: Content): void {
  if (typeof text !== 'string') throw invalidMember(param, `${param}: a text.`)
  const length = content.lengthOf(text)
  if (length > MAX_TEXT_CHARS) {
    throw new AppError('request_too_large', { message: `${param}: at most ${MAX_TEXT_CHARS} characters.`, param })
  }
  content.spokenChars += length
}

/** The id of a call may hold one of our seals, and is then longer. */
function checkCallId(value: unknown, param: string, content: Content): void {
  const { id, seal } = typeof value === 'string' && value.length <= MAX_SEALED_ID_CHARS ? splitId(value) : NO_ID
  if (seal !== undefined) content.hasSeals = true
  checkId(seal === undefined ? value : id, param)
}

const NO_ID = { id: '', seal: undefined }

function checkId(id: unknown, param: string): void {
  if (typeof id !== 'string' || id === '' || id.length > MAX_ID_CHARS)
    throw invalidMember(param, `${param}: a short text.`)
}

/** Inlined data or a URL; neither is examined, and nothing is fetched. */
function checkSource(source: unknown, param: string, content: Content): void {
  if (!isRecord(source)) throw invalidMember(param, `${param}: an object.`)
  const { type, data, url } = source
  if (type === 'base64' && typeof data === 'string' && typeof source['media_type'] === 'string') {
    content.inlinedChars += content.lengthOf(data)
  } else if (type === 'text' && typeof data === 'string') checkText(data, `${param}.data`, content)
  else if (type === 'content') checkContent(source['content'], `${param}.content`, content)
  else if (type === 'file') throw new AppError('unresolvable_file_reference', { param })
  else if (type !== 'url' || typeof url !== 'string' || url === '') {
    throw invalidMember(param, `${param}: base64 with media_type and data, or url.`)
  } else content.hasAddresses = true
}

/** True for a document whose pages only its reader counts. */
function isOpenEnded(source: unknown): boolean {
  return isRecord(source) && source['type'] !== 'text' && source['type'] !== 'content'
}
