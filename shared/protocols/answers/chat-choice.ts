import type { JsonObject } from '#shared/json-members.ts'
import { isGiven, isRecord } from '#shared/json-members.ts'
import type { BadAnswer } from './bad-answer.ts'
import { malformed } from './bad-answer.ts'
import { tellApart, textIn } from './tell-apart.ts'

/**
 * Members that a chat client relies on. Providers leave members out, send null, and add members and finish reasons of
 * their own, and clients accept that. No client can use a known member with a value of another type.
 */

export const NOT_THE_ASSISTANT = malformed('a role other than assistant')
const TEXTS = ['reasoning', 'reasoning_content', 'refusal'] as const
const LISTS = ['reasoning_details', 'annotations', 'images'] as const

/** Returns the reason why no client can read a choice of a whole answer. Undefined for a readable one. */
export function choiceFault(choice: unknown): BadAnswer | undefined {
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message)) return malformed('a choice without a message')
  const { index, logprobs, finish_reason: reason } = choice
  if (isGiven(index) && !(typeof index === 'number' && Number.isSafeInteger(index) && index >= 0)) {
    return wrongType('index')
  }
  if (!isReason(reason)) return wrongType('finish_reason')
  if (isGiven(logprobs) && !areLogprobs(logprobs)) return wrongType('logprobs')
  return messageFault(message)
}

/** True for a readable finish reason: any word, or none. */
export function isReason(reason: unknown): boolean {
  return isText(reason)
}

/** True for the role of an answer. Some providers leave it empty. */
export function isAnswerRole(role: unknown): boolean {
  return !isGiven(role) || role === 'assistant' || role === ''
}

/**
 * Returns the reason why no client can read a piece of a streamed answer. Its calls may arrive in incomplete pieces.
 */
export function deltaFault({
  role,
  content,
  refusal,
  reasoning,
  reasoning_content: thought,
  tool_calls: calls,
}: JsonObject): BadAnswer | undefined {
  if (!isAnswerRole(role)) return NOT_THE_ASSISTANT
  if (!isText(content) && !Array.isArray(content)) return wrongType('content')
  if (!isText(refusal)) return wrongType('refusal')
  if (!isText(reasoning) || !isText(thought)) return wrongType('reasoning')
  return isGiven(calls) && !areCallPieces(calls) ? wrongType('tool_calls') : undefined
}

/** True for a text, or for none. */
export function isText(value: unknown): boolean {
  return value === undefined || value === null || typeof value === 'string'
}

function messageFault(message: JsonObject): BadAnswer | undefined {
  const { role, content, audio, tool_calls: calls, function_call: single } = message
  if (!isAnswerRole(role)) return NOT_THE_ASSISTANT
  if (!isText(content) && !areParts(content)) return wrongType('content')
  for (const name of TEXTS) {
    const value = message[name]
    if (!isText(value)) return wrongType(name)
  }
  for (const name of LISTS) {
    const value = message[name]
    if (isGiven(value) && !(Array.isArray(value) && value.every(isRecord))) return wrongType(name)
  }
  if (isGiven(audio) && !isRecord(audio)) return wrongType('audio')
  if (isGiven(calls) && !(Array.isArray(calls) && calls.every(isCall))) return wrongType('tool_calls')
  return isGiven(single) && !isFunction(single) ? wrongType('function_call') : undefined
}

/** The text of a message, or of a piece of it. */
export function contentOf({ content }: JsonObject): string {
  return typeof content === 'string' ? content : Array.isArray(content) ? tellApart(content).text : ''
}

/** The refusal of a message, or of a piece of it. */
export function refusalOf({ refusal, content }: JsonObject): string {
  if (typeof refusal === 'string' && refusal !== '') return refusal
  return Array.isArray(content) ? tellApart(content).refusal : ''
}

/**
 * The reasoning under any of its names, or among the parts of the content. A provider with several names repeats the
 * text under each.
 */
export function thoughtOf(message: JsonObject): string {
  const { reasoning, reasoning_content: content, reasoning_details: details, content: parts } = message
  if (typeof content === 'string' && content !== '') return content
  if (typeof reasoning === 'string' && reasoning !== '') return reasoning
  const detailText = Array.isArray(details) ? details.map((part) => (isRecord(part) ? textIn(part) : '')).join('') : ''
  return detailText === '' && Array.isArray(parts) ? tellApart(parts).thought : detailText
}

/** Providers of reasoning models send the content in parts. */
function areParts(content: unknown): boolean {
  return Array.isArray(content) && content.every((part) => isRecord(part) && typeof part['type'] === 'string')
}

function isCall(call: unknown): boolean {
  if (!isRecord(call)) return false
  const { id, type, custom } = call
  if (!isText(id) || !isText(type)) return false
  if (type === 'custom') return isRecord(custom) && isName(custom['name']) && typeof custom['input'] === 'string'
  return isFunction(call['function'])
}

/** True for calls of a streamed answer, whole or in pieces. */
export function areCallPieces(calls: unknown): calls is readonly unknown[] {
  return Array.isArray(calls) && calls.every(isCallPiece)
}

function isCallPiece(piece: unknown): boolean {
  if (!isRecord(piece) || !isText(piece['id'])) return false
  const fn = piece['function']
  return !isGiven(fn) || (isRecord(fn) && isText(fn['name']) && areArguments(fn['arguments']))
}

function isFunction(fn: unknown): boolean {
  if (!isRecord(fn) || !isName(fn['name'])) return false
  return areArguments(fn['arguments'])
}

/** Some providers send the arguments as the object itself, or none. */
function areArguments(value: unknown): boolean {
  return isText(value) || isRecord(value)
}

export function isName(name: unknown): boolean {
  return typeof name === 'string' && name !== ''
}

/** True for log probabilities: an object whose known members are lists of objects. */
export function areLogprobs(value: unknown): boolean {
  if (!isRecord(value)) return false
  return [value['content'], value['refusal']].every((list) => {
    return !isGiven(list) || (Array.isArray(list) && list.every(isRecord))
  })
}

/** The fault of a known member with an unusable value. */
export function wrongType(name: string): BadAnswer {
  return malformed(`a value of another type under ${name}`)
}
