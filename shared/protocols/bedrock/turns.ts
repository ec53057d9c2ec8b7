import { createHash } from 'node:crypto'
import { AppError } from '#shared/errors.ts'
import { readJsonObject } from '#shared/json-members.ts'
import { alternatingMessages } from '#shared/protocols/middle-form/alternating-messages.ts'
import type {
  AssistantPart,
  CacheControl,
  Conversation,
  DataSource,
  FilePart,
  ImagePart,
  ReasoningPart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  UrlSource,
  UserPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { joinedTexts } from '#shared/protocols/middle-form/joined-texts.ts'

/** The user's text in front of a conversation that is empty or begins with an answer, and beside a document alone. */
const OPENING = 'Continue.'
/** The text of an empty result, because the protocol requires one. */
const NO_RESULT = '(no output)'

const MAX_ID_CHARS = 64
const MAX_NAME_CHARS = 200
const HASH_CHARS = 8

const IMAGE_FORMATS: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpeg',
  'image/jpg': 'jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
}
const DOCUMENT_FORMATS: Readonly<Record<string, string>> = {
  'application/pdf': 'pdf',
  'text/csv': 'csv',
  'text/html': 'html',
  'text/plain': 'txt',
  'text/markdown': 'md',
  'application/msword': 'doc',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
}

/** The state of a conversation's writer: the names of its documents so far, and whether caches are marked. */
type Writing = { readonly names: Set<string>; readonly hasCaches: boolean }

/**
 * The `system` and `messages` lists as JSON text. Calls keep their input letter by letter. Throws `invalid_request` for
 * an image or a document by URL and for one of an unknown kind.
 */
export function converseTurns(
  { system, turns }: Conversation,
  hasCaches: boolean,
): { readonly system: string; readonly messages: string } {
  const writing: Writing = { names: new Set(), hasCaches }
  return {
    system: joinedTexts(system.map((part) => marked(writing, textBlock(part.text), part.cacheControl))),
    messages: alternatingMessages(turns, textBlock(OPENING), ({ role, parts }, isLast) =>
      role === 'user' ? userBlocks(writing, parts) : assistantBlocks(writing, parts, isLast),
    ),
  }
}

/** The protocol expects the results of calls first, and a text beside each document. */
function userBlocks(writing: Writing, parts: readonly UserPart[]): string {
  const results = parts.map((part) => (part.kind === 'toolResult' ? resultBlock(writing, part) : ''))
  const others = parts.map((part) => (part.kind === 'toolResult' ? '' : saidBlock(writing, part)))
  const isUntold = parts.some(({ kind }) => kind === 'file') && !parts.some(isTold)
  return joinedTexts([...results, ...others, isUntold ? textBlock(OPENING) : ''])
}

function isTold(part: UserPart): boolean {
  return part.kind === 'text' && part.text.trim() !== ''
}

function assistantBlocks(writing: Writing, parts: readonly AssistantPart[], isLast: boolean): string {
  const lastText = parts.findLastIndex(({ kind }) => kind === 'text')
  return joinedTexts(
    parts.map((part, index) => {
      switch (part.kind) {
        case 'toolCall':
          return marked(writing, callBlock(part), part.cacheControl)
        case 'reasoning':
          return thoughtBlock(part)
        default:
          // The last answer, if it is to be continued, may not end with white space.
          return saidBlock(writing, isLast && index === lastText ? { ...part, text: part.text.trimEnd() } : part)
      }
    }),
  )
}

/** A block followed by a cache point, when the buyer marked it and the model supports caches. */
function marked({ hasCaches }: Writing, block: string, mark: CacheControl | undefined): string {
  return mark === undefined || !hasCaches || block === '' ? block : `${block},${cachePoint(mark)}`
}

/** A cache point, which keeps everything in front of it. */
export function cachePoint({ ttl }: CacheControl): string {
  return `{"cachePoint":{"type":"default"${ttl === undefined ? '' : `,"ttl":${JSON.stringify(ttl)}`}}}`
}

/** A text block. A text without a letter gives none, because the protocol refuses it. */
function textBlock(text: string): string {
  return text.trim() === '' ? '' : `{"text":${JSON.stringify(text)}}`
}

function saidBlock(writing: Writing, part: TextPart | ImagePart | FilePart): string {
  return marked(writing, contentBlock(writing, part), part.cacheControl)
}

function contentBlock(writing: Writing, part: TextPart | ImagePart | FilePart): string {
  switch (part.kind) {
    case 'text':
      return textBlock(part.text)
    case 'image':
      return `{"image":${sourceText(part.source, IMAGE_FORMATS, 'image')}}`
    default: {
      const name = documentName(writing, part.name)
      const source = sourceText(part.source, DOCUMENT_FORMATS, 'document')
      return `{"document":{"name":${JSON.stringify(name)},${source.slice(1)}}`
    }
  }
}

/** The format and the bytes. The protocol accepts no URL but those of AWS's own stores. */
function sourceText(
  source: DataSource | UrlSource,
  formats: Readonly<Record<string, string>>,
  kind: 'image' | 'document',
): string {
  if (source.kind === 'url')
    throw unsaid(`The provider takes no ${kind} by its address. Send its bytes in a data: URL.`)
  const format = formats[source.mediaType.toLowerCase().split(';', 1)[0]?.trim() ?? '']
  if (format === undefined) throw unsaid(`The provider takes no ${kind} of this media type.`)
  return `{"format":"${format}","source":{"bytes":${JSON.stringify(source.data)}}}`
}

function unsaid(message: string): AppError {
  return new AppError('invalid_request', { message, param: 'messages' })
}

/** A name in the protocol's form: letters, digits, single spaces, hyphens and brackets, and no name twice. */
function documentName({ names }: Writing, nameInRequest = ''): string {
  const plain = nameInRequest
    .replace(/[^A-Za-z0-9\s()[\]-]/g, '-')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, MAX_NAME_CHARS - HASH_CHARS)
    .trim()
  const name = plain === '' ? 'document' : plain
  let unique = name
  for (let count = 2; names.has(unique); count++) unique = `${name} (${count})`
  names.add(unique)
  return unique
}

/** Reasoning without its maker's signature is not accepted back. */
function thoughtBlock({ text, signature, redacted }: ReasoningPart): string {
  if (redacted !== undefined) return `{"reasoningContent":{"redactedContent":${JSON.stringify(redacted)}}}`
  if (signature === undefined || signature === '') return ''
  const thought = `{"text":${JSON.stringify(text)},"signature":${JSON.stringify(signature)}}`
  return `{"reasoningContent":{"reasoningText":${thought}}}`
}

function callBlock({ id, name, input }: ToolCallPart): string {
  const text = readJsonObject(input) === undefined ? '{}' : input.trim()
  return `{"toolUse":{"toolUseId":${JSON.stringify(callId(id))},"name":${JSON.stringify(name)},"input":${text}}}`
}

function resultBlock(writing: Writing, { callId: id, parts, isError, cacheControl }: ToolResultPart): string {
  const blocks = joinedTexts(parts.map((part) => contentBlock(writing, part)))
  const failed = isError ? ',"status":"error"' : ''
  const content = blocks === '' ? textBlock(NO_RESULT) : blocks
  const result = `{"toolResult":{"toolUseId":${JSON.stringify(callId(id))},"content":[${content}]${failed}}}`
  return marked(writing, result, cacheControl)
}

/** An id in the protocol's letters and length. A call and its result get the same id, and no two calls share one. */
function callId(id: string): string {
  const plain = id.replace(/[^a-zA-Z0-9_-]/g, '_')
  if (plain === id && id !== '' && id.length <= MAX_ID_CHARS) return id
  const hash = createHash('sha256').update(id).digest('hex').slice(0, HASH_CHARS)
  return `${plain.slice(0, MAX_ID_CHARS - HASH_CHARS - 1)}_${hash}`
}
