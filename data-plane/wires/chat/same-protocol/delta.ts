import { isRecord } from '#shared/json-members.ts'
import { areCallPieces, isAnswerRole, partsText } from '#shared/protocols/answers/chat-choice.ts'
import { argumentsText } from './loose-calls.ts'

/** The part of a choice so far on which the next delta depends. */
export type DeltaState = {
  hasRole: boolean
  hasToolCalls: boolean
  /** Ids of tool calls in the order in which they appeared: the place is the index. */
  readonly toolIds: (string | undefined)[]
  readonly counts: { contentBytes: number; reasoningBytes: number; pictures: number }
  /** The first member whose value nobody can use. */
  unreadable: string | undefined
}

const MAX_TOOL_CALLS = 128

export function newDeltaState(counts: DeltaState['counts']): DeltaState {
  return { hasRole: false, hasToolCalls: false, toolIds: [], counts, unreadable: undefined }
}

/**
 * The members of a delta that may pass, as JSON text without braces; an empty string when it holds no content. The first
 * that holds any carries the role.
 */
export function deltaText(delta: Readonly<Record<string, unknown>>, state: DeltaState): string {
  let text = ''
  for (const name in delta) {
    const value = delta[name]
    if (value === null || value === '' || value === undefined) continue
    const part = memberText(name, value, state)
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
    case 'content': {
      const given = Array.isArray(value) ? partsText(value) : value
      return typeof given === 'string' ? textMember(name, given, state) : unreadable(name, state)
    }
    case 'refusal':
      return typeof value === 'string' ? textMember(name, value, state) : unreadable(name, state)
    case 'reasoning_content':
    case 'reasoning': {
      if (typeof value !== 'string') return unreadable(name, state)
      const bytes = Buffer.byteLength(value)
      state.counts.reasoningBytes += bytes
      state.counts.contentBytes += bytes
      return `"${name}":${JSON.stringify(value)}`
    }
    case 'tool_calls':
      return areCallPieces(value) ? toolCallsText(value, state) : unreadable(name, state)
    case 'reasoning_details':
    case 'annotations':
      return Array.isArray(value) && value.length > 0 ? counted(name, value, state) : ''
    case 'images':
      return Array.isArray(value) && value.every(isRecord) ? picturesText(value, state) : unreadable(name, state)
    case 'audio':
    case 'function_call':
      return isRecord(value) ? counted(name, value, state) : ''
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

function counted(name: string, value: unknown, state: DeltaState): string {
  const json = JSON.stringify(value)
  state.counts.contentBytes += Buffer.byteLength(json)
  return `"${name}":${json}`
}

/** A picture counts as one byte, because its bytes say nothing of its tokens. */
function picturesText(pictures: readonly unknown[], { counts }: DeltaState): string {
  if (pictures.length === 0) return ''
  counts.pictures += pictures.length
  counts.contentBytes += pictures.length
  return `"images":${JSON.stringify(pictures)}`
}

/** Tool calls in the strict form: an index always, then id, type and name once, then pieces of the arguments. */
function toolCallsText(calls: readonly unknown[], state: DeltaState): string {
  let text = ''
  for (const call of calls) {
    if (!isRecord(call)) continue
    const index = toolIndex(call, state)
    if (index === undefined) continue
    const piece = toolCallText(call, index, state)
    text = text === '' ? piece : `${text},${piece}`
  }
  if (text === '') return ''
  state.hasToolCalls = true
  state.counts.contentBytes += Buffer.byteLength(text)
  return `"tool_calls":[${text}]`
}

/** The index of a call: its own, or the place of its id; without either it continues the last one. */
function toolIndex(call: Readonly<Record<string, unknown>>, { toolIds }: DeltaState): number | undefined {
  const { index, id } = call
  if (typeof index === 'number') {
    return Number.isInteger(index) && index >= 0 && index < MAX_TOOL_CALLS ? index : undefined
  }
  if (typeof id === 'string' && id !== '') {
    const known = toolIds.indexOf(id)
    const place = known >= 0 ? known : toolIds.length
    return place < MAX_TOOL_CALLS ? place : undefined
  }
  return Math.max(0, toolIds.length - 1)
}

function toolCallText(call: Readonly<Record<string, unknown>>, index: number, state: DeltaState): string {
  const fn = isRecord(call['function']) ? call['function'] : {}
  const { id } = call
  let text = `{"index":${index}`
  if (state.toolIds[index] === undefined) {
    const given = typeof id === 'string' && id !== '' ? id.slice(0, 256) : `call_${index}`
    state.toolIds[index] = given
    text += `,"id":${JSON.stringify(given)},"type":"function"`
    const name = typeof fn['name'] === 'string' ? fn['name'] : ''
    return `${text},"function":{"name":${JSON.stringify(name)},"arguments":${JSON.stringify(argumentsText(fn))}}}`
  }
  return `${text},"function":{"arguments":${JSON.stringify(argumentsText(fn))}}}`
}
