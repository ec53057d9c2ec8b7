import { isRecord } from '#shared/json-members.ts'

/** True for a call of a function that lacks its id or says another type, or whose arguments are no text. */
export function isLooseCall(call: unknown): boolean {
  if (!isRecord(call) || call['type'] === 'custom') return false
  const { id, type, function: fn } = call
  return typeof id !== 'string' || id === '' || type !== 'function' || typeof argumentsIn(fn) !== 'string'
}

/** A choice whose calls of functions have all that a client relies on: an id, the type, and the arguments as text. */
export function withStrictCalls(choice: unknown): unknown {
  const message = isRecord(choice) ? choice['message'] : undefined
  if (!isRecord(choice) || !isRecord(message) || !Array.isArray(message['tool_calls'])) return choice
  return { ...choice, message: { ...message, tool_calls: message['tool_calls'].map(strictCall) } }
}

function strictCall(call: unknown, place: number): unknown {
  if (!isRecord(call) || !isLooseCall(call)) return call
  const { id, function: fn } = call
  return {
    ...call,
    id: typeof id === 'string' && id !== '' ? id : `call_${place}`,
    type: 'function',
    function: { ...(isRecord(fn) ? fn : {}), arguments: argumentsText(fn) },
  }
}

/** The arguments of a call as text. Some providers send the object itself. */
export function argumentsText(fn: unknown): string {
  const given = argumentsIn(fn)
  if (typeof given === 'string') return given
  return given === undefined || given === null ? '' : JSON.stringify(given)
}

function argumentsIn(fn: unknown): unknown {
  return isRecord(fn) ? fn['arguments'] : undefined
}
