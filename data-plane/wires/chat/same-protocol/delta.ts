import type { JsonObject } from '#shared/json-members.ts'
import { isRecord } from '#shared/json-members.ts'
import type { CallAssembly, CallPiece } from '#shared/protocols/answers/call-pieces.ts'
import { assembleCalls } from '#shared/protocols/answers/call-pieces.ts'
import { areCallPieces, isAnswerRole } from '#shared/protocols/answers/chat-choice.ts'
import { tellApart } from '#shared/protocols/answers/tell-apart.ts'

/** The state of a choice on which the next delta depends. */
export type DeltaState = {
  hasRole: boolean
  hasToolCalls: boolean
  /** True after a call of the older form. */
  hasFunctionCall: boolean
  /** The calls so far; undefined without any. */
  calls: CallAssembly | undefined
  readonly counts: { contentBytes: number; reasoningBytes: number; pictures: number }
  /** The first member with an unusable value. */
  unreadable: string | undefined
}

export function newDeltaState(counts: DeltaState['counts']): DeltaState {
  return {
    hasRole: false,
    hasToolCalls: false,
    hasFunctionCall: false,
    calls: undefined,
    counts,
    unreadable: undefined,
  }
}

/**
 * The members of a delta that may pass, as JSON text without braces; an empty string without content. The first delta
 * with content carries the role.
 */
export function deltaText(delta: Readonly<Record<string, unknown>>, state: DeltaState): string {
  let text = ''
  for (const name in delta) {
    const value = delta[name]
    if (value === null || value === '' || value === undefined) continue
    const part =
      Array.isArray(value) && name === 'content' ? partsText(value, delta, state) : memberText(name, value, state)
    if (part !== '') text = text === '' ? part : `${text},${part}`
  }
  if (text === '' || state.hasRole) return text
  state.hasRole = true
  return `"role":"assistant",${text}`
}

function memberText(name: string, value: unknown, state: DeltaState): string {
  switch (name) {
    case 'role':
      return isAnswerRole(value) ? '' : unreadable(name, state)
    case 'content':
    case 'refusal':
      return typeof value === 'string' ? textMember(name, value, state) : unreadable(name, state)
    case 'reasoning_content':
    case 'reasoning':
      return typeof value === 'string' ? thoughtMember(name, value, state) : unreadable(name, state)
    case 'tool_calls':
      return areCallPieces(value) ? toolCallsText(value, state) : unreadable(name, state)
    case 'reasoning_details':
    case 'annotations':
      return Array.isArray(value) && value.length > 0 ? countedMember(name, value, state) : ''
    case 'extra_content':
      return isRecord(value) ? opaqueText(name, value) : ''
    case 'images':
      return Array.isArray(value) && value.every(isRecord) ? picturesText(value, state) : unreadable(name, state)
    case 'audio':
    case 'function_call':
      if (name === 'function_call') state.hasFunctionCall = true
      return isRecord(value) ? countedMember(name, value, state) : ''
    default:
      return ''
  }
}

function textMember(name: string, text: string, state: DeltaState): string {
  if (text === '') return ''
  state.counts.contentBytes += Buffer.byteLength(text)
  return `"${name}":${JSON.stringify(text)}`
}

function unreadable(name: string, state: DeltaState): string {
  state.unreadable ??= name
  return ''
}

function countedMember(name: string, value: unknown, state: DeltaState): string {
  const json = JSON.stringify(value)
  state.counts.contentBytes += Buffer.byteLength(json)
  return `"${name}":${json}`
}

/** The longest member that only its provider understands. */
const MAX_OPAQUE_CHARS = 65_536

/** A member that only its provider understands. It is no content, so it is not counted. */
function opaqueText(name: string, value: JsonObject): string {
  const json = JSON.stringify(value)
  return json.length > MAX_OPAQUE_CHARS ? '' : `"${name}":${json}`
}

/** An image counts as one byte, because its bytes say nothing about its tokens. */
function picturesText(pictures: readonly unknown[], { counts }: DeltaState): string {
  if (pictures.length === 0) return ''
  counts.pictures += pictures.length
  counts.contentBytes += pictures.length
  return `"images":${JSON.stringify(pictures)}`
}

/** Content in parts, each under the member where clients look for it. */
function partsText(
  parts: readonly unknown[],
  { reasoning, reasoning_content: namedReasoning }: JsonObject,
  state: DeltaState,
): string {
  const { text, thought, refusal, images } = tellApart(parts)
  const hasThought =
    (typeof reasoning === 'string' && reasoning !== '') || (typeof namedReasoning === 'string' && namedReasoning !== '')
  const members = [
    textMember('content', text, state),
    textMember('refusal', refusal, state),
    picturesText(images, state),
  ]
  if (thought !== '' && !hasThought) {
    members.push(thoughtMember('reasoning_content', thought, state), `"reasoning":${JSON.stringify(thought)}`)
  }
  return members.filter((member) => member !== '').join(',')
}

function thoughtMember(name: string, text: string, { counts }: DeltaState): string {
  const bytes = Buffer.byteLength(text)
  counts.reasoningBytes += bytes
  counts.contentBytes += bytes
  return `"${name}":${JSON.stringify(text)}`
}

/** Calls in the strict form: an index always, then id, type and name once, then pieces of the arguments. */
function toolCallsText(calls: readonly unknown[], state: DeltaState): string {
  state.calls ??= assembleCalls()
  return piecesText(state.calls.take(calls), state)
}

/** The pieces of calls that were held back until no more could come, as a delta's text. */
export function restText(state: DeltaState): string {
  return state.calls === undefined ? '' : piecesText(state.calls.end(), state)
}

function piecesText(pieces: readonly CallPiece[], state: DeltaState): string {
  const text = pieces.map(pieceText).join(',')
  if (text === '') return ''
  state.hasToolCalls = true
  state.counts.contentBytes += Buffer.byteLength(text)
  return `"tool_calls":[${text}]`
}

function pieceText({ index, head, input, members }: CallPiece): string {
  const opaque = members === undefined ? '' : `,${JSON.stringify(members).slice(1, -1)}`
  const argumentsText = `"arguments":${JSON.stringify(input)}}${opaque}}`
  if (head === undefined) return `{"index":${index},"function":{${argumentsText}`
  const { id, name } = head
  return `{"index":${index},"id":${JSON.stringify(id)},"type":"function","function":{"name":${JSON.stringify(name)},${argumentsText}`
}
