import { readJsonObject } from '#shared/json-members.ts'
import type { MessagesForm } from '#shared/protocols/messages-form.ts'
import { noAddress } from '#shared/protocols/messages-form.ts'
import { alternatingMessages } from '#shared/protocols/middle-form/alternating-messages.ts'
import type {
  AssistantPart,
  CacheControl,
  Conversation,
  DataSource,
  FilePart,
  ImagePart,
  TextPart,
  ToolCallPart,
  ToolResultPart,
  UrlSource,
  UserPart,
} from '#shared/protocols/middle-form/conversation.ts'
import { joinedTexts } from '#shared/protocols/middle-form/joined-texts.ts'

/** The user's text in front of a conversation that is empty or begins with an answer. */
const OPENING = 'Continue.'

/** The blocks of `system` and the list of `messages`, as JSON text. Calls keep their input letter by letter. */
export function messagesOf(
  { system, turns }: Conversation,
  { takesUrls }: MessagesForm,
): { readonly system: string; readonly messages: string } {
  if (!takesUrls && turns.some(({ parts }) => parts.some(hasUrl))) throw noAddress()
  return {
    system: joinedTexts(system.map(systemBlock)),
    messages: alternatingMessages(turns, textBlock(OPENING), ({ role, parts }, isLast) =>
      role === 'user' ? userBlocks(parts) : assistantBlocks(parts, isLast),
    ),
  }
}

/** True for an image or a document that is given by URL, also in the result of a call. */
function hasUrl(part: UserPart | AssistantPart): boolean {
  if (part.kind === 'toolResult') return part.parts.some(hasUrl)
  return (part.kind === 'image' || part.kind === 'file') && part.source.kind === 'url'
}

/** The protocol wants the results of calls first. */
function userBlocks(parts: readonly UserPart[]): string {
  const results = parts.map((part) => (part.kind === 'toolResult' ? resultBlock(part) : ''))
  const others = parts.map((part) => (part.kind === 'toolResult' ? '' : saidBlock(part)))
  return joinedTexts([...results, ...others])
}

function assistantBlocks(parts: readonly AssistantPart[], isLast: boolean): string {
  const lastText = parts.findLastIndex(({ kind }) => kind === 'text')
  return joinedTexts(
    parts.map((part, index) => {
      switch (part.kind) {
        case 'toolCall':
          return callBlock(part)
        case 'reasoning':
          if (part.redacted !== undefined) return `{"type":"redacted_thinking","data":${JSON.stringify(part.redacted)}}`
          // A reasoning block without its maker's signature is refused by the maker.
          if (part.signature === undefined) return ''
          return `{"type":"thinking","thinking":${JSON.stringify(part.text)},"signature":${JSON.stringify(part.signature)}}`
        default:
          // The last answer, if it is to be continued, may not end with white space.
          return saidBlock(isLast && index === lastText ? { ...part, text: part.text.trimEnd() } : part)
      }
    }),
  )
}

function systemBlock({ text, cacheControl }: TextPart): string {
  return textBlock(text, cacheControl)
}

/** A text block. An empty text gives none, because the protocol refuses it. */
export function textBlock(text: string, cacheControl?: CacheControl): string {
  return text === '' ? '' : `{"type":"text","text":${JSON.stringify(text)}${cacheMark(cacheControl)}}`
}

function saidBlock(part: TextPart | ImagePart | FilePart): string {
  switch (part.kind) {
    case 'text':
      return textBlock(part.text, part.cacheControl)
    case 'image':
      return `{"type":"image","source":${sourceText(part.source)}${cacheMark(part.cacheControl)}}`
    default: {
      const title = part.name === undefined ? '' : `,"title":${JSON.stringify(part.name)}`
      return `{"type":"document","source":${sourceText(part.source)}${title}${cacheMark(part.cacheControl)}}`
    }
  }
}

function sourceText(source: DataSource | UrlSource): string {
  if (source.kind === 'url') return JSON.stringify({ type: 'url', url: source.url })
  const { mediaType, data } = source
  if (!mediaType.startsWith('text/')) return JSON.stringify({ type: 'base64', media_type: mediaType, data })
  // The protocol takes texts without base64.
  return JSON.stringify({ type: 'text', media_type: 'text/plain', data: Buffer.from(data, 'base64').toString('utf8') })
}

function callBlock({ id, name, input, cacheControl }: ToolCallPart): string {
  const text = readJsonObject(input) === undefined ? '{}' : input.trim()
  return (
    `{"type":"tool_use","id":${JSON.stringify(callId(id))},"name":${JSON.stringify(name)},` +
    `"input":${text}${cacheMark(cacheControl)}}`
  )
}

function resultBlock({ callId: id, parts, isError, cacheControl }: ToolResultPart): string {
  const blocks = joinedTexts(parts.map(saidBlock))
  const content = blocks === '' ? '' : `,"content":[${blocks}]`
  const failed = isError ? ',"is_error":true' : ''
  return `{"type":"tool_result","tool_use_id":${JSON.stringify(callId(id))}${content}${failed}${cacheMark(cacheControl)}}`
}

/** Rewrites an id of another protocol in the letters that this one allows. A call and its result get the same id. */
function callId(id: string): string {
  return id.replace(/[^a-zA-Z0-9_-]/g, '_')
}

/** A cache breakpoint as a further member of a block. */
export function cacheMark(mark: CacheControl | undefined): string {
  if (mark === undefined) return ''
  const ttl = mark.ttl === undefined ? '' : `,"ttl":${JSON.stringify(mark.ttl)}`
  return `,"cache_control":{"type":"ephemeral"${ttl}}`
}
