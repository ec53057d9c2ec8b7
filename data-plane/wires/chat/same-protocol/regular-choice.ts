import type { JsonObject } from '#shared/json-members.ts'
import { hasText, isRecord } from '#shared/json-members.ts'
import { argumentsText } from '#shared/protocols/answers/call-pieces.ts'
import { tellApart } from '#shared/protocols/answers/tell-apart.ts'

/** Finish reasons of an answer with calls. */
const CALL_REASONS: ReadonlySet<unknown> = new Set(['tool_calls', 'function_call'])

/**
 * A choice of a whole answer in the form that clients rely on: the content is a text, calls have an id of their own,
 * the type and the arguments as text, and the finish reason names calls only for an answer that has some. A choice in
 * this form is returned unchanged.
 */
export function regularChoice(choice: unknown): unknown {
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message)) return choice
  const { content, tool_calls: toolCalls } = message
  const calls = Array.isArray(toolCalls) ? toolCalls : undefined
  const isMistaken = isMistakenReason(
    choice['finish_reason'],
    (calls?.length ?? 0) > 0 || isRecord(message['function_call']),
  )
  const isLoose = calls !== undefined && areLoose(calls)
  if (!isMistaken && !isLoose && !Array.isArray(content)) return choice
  return {
    ...choice,
    message: {
      ...message,
      ...(Array.isArray(content) && plainContent(message, content)),
      ...(isLoose && { tool_calls: strictCalls(calls) }),
    },
    ...(isMistaken && { finish_reason: 'stop' }),
  }
}

/** True for a finish reason that implies missing calls. */
export function isMistakenReason(reason: unknown, hasCalls: boolean): boolean {
  return !hasCalls && CALL_REASONS.has(reason)
}

function plainContent(message: JsonObject, parts: readonly unknown[]): JsonObject {
  const { text, thought, refusal, images } = tellApart(parts)
  const { reasoning, reasoning_content: namedReasoning, images: before } = message
  const isThought = thought !== '' && !hasText(reasoning) && !hasText(namedReasoning)
  return {
    content: text === '' && (refusal !== '' || hasCalls(message)) ? null : text,
    ...(isThought && { reasoning: thought, reasoning_content: thought }),
    ...(refusal !== '' && { refusal }),
    ...(images.length > 0 && { images: [...(Array.isArray(before) ? before : []), ...images] }),
  }
}

function hasCalls({ tool_calls: calls }: JsonObject): boolean {
  return Array.isArray(calls) && calls.length > 0
}

/** True when a call lacks its id, repeats another's, has another type, or has arguments that are no text. */
function areLoose(calls: readonly unknown[]): boolean {
  return calls.some(isLoose) || (calls.length > 1 && new Set(calls.map(idOf)).size < calls.length)
}

function idOf(call: unknown): unknown {
  return isRecord(call) ? call['id'] : undefined
}

function isLoose(call: unknown): boolean {
  if (!isRecord(call) || call['type'] === 'custom') return false
  const { id, type, function: fn } = call
  const args = isRecord(fn) ? fn['arguments'] : undefined
  return typeof id !== 'string' || id === '' || type !== 'function' || typeof args !== 'string'
}

function strictCalls(calls: readonly unknown[]): readonly unknown[] {
  const ids = new Set<unknown>()
  return calls.map((call, place) => {
    if (!isRecord(call)) return call
    const { id: providerId } = call
    let id = typeof providerId === 'string' && providerId !== '' && !ids.has(providerId) ? providerId : `call_${place}`
    while (ids.has(id) || (id !== providerId && calls.some((other) => idOf(other) === id))) id += '_'
    ids.add(id)
    if (call['type'] === 'custom') return { ...call, id }
    const fn = isRecord(call['function']) ? call['function'] : {}
    return { ...call, id, type: 'function', function: { ...fn, arguments: argumentsText(fn['arguments']) } }
  })
}
