import { isRecord } from '#shared/json-members.ts'
import type { AnswerEvent } from '#shared/protocols/middle-form/answer.ts'

/** The largest number of calls that is read of one answer. */
const MAX_TOOL_CALLS = 128
const MAX_ID_CHARS = 256

/** The state of a call. `waiting` is input that came before the name. */
type ToolState = { id: string | undefined; name: string; isStarted: boolean; waiting: string }

/** The calls of an answer by their index. */
export type ToolStates = { readonly calls: (ToolState | undefined)[]; last: number }

export function newToolStates(): ToolStates {
  return { calls: [], last: 0 }
}

/**
 * Reads tool calls, whole or in pieces, with or without an index, and adds their events: one start as soon as there is
 * a name, then input. A call that never gets a name is dropped.
 */
export function takeToolCalls(states: ToolStates, calls: readonly unknown[], events: AnswerEvent[]): void {
  for (const call of calls) {
    if (!isRecord(call)) continue
    const index = placeOf(states, call)
    if (index === undefined) continue
    states.last = index
    const state = states.calls[index] ?? { id: undefined, name: '', isStarted: false, waiting: '' }
    states.calls[index] = state
    const fn = isRecord(call['function']) ? call['function'] : {}
    const { id } = call
    if (state.id === undefined && typeof id === 'string' && id !== '') state.id = id.slice(0, MAX_ID_CHARS)
    if (!state.isStarted && typeof fn['name'] === 'string') state.name += fn['name']
    const input = inputOf(fn)
    if (!state.isStarted && state.name !== '') start(state, index, events)
    if (state.isStarted) addInput(index, state.waiting + input, events)
    state.waiting = state.isStarted ? '' : state.waiting + input
  }
}

function start(state: ToolState, index: number, events: AnswerEvent[]): void {
  state.isStarted = true
  events.push({ kind: 'toolStart', index, id: state.id ?? `call_${index}`, name: state.name })
}

function addInput(index: number, text: string, events: AnswerEvent[]): void {
  if (text !== '') events.push({ kind: 'toolInput', index, text })
}

/** The index of a call: its own, or that of its id. Without either it continues the last call. */
function placeOf({ calls, last }: ToolStates, call: Readonly<Record<string, unknown>>): number | undefined {
  const { index, id } = call
  if (typeof index === 'number') {
    return Number.isInteger(index) && index >= 0 && index < MAX_TOOL_CALLS ? index : undefined
  }
  if (typeof id !== 'string' || id === '') return last
  const known = calls.findIndex((state) => state?.id === id)
  const place = known >= 0 ? known : calls.length
  return place < MAX_TOOL_CALLS ? place : undefined
}

/** The arguments as text. Some providers send the object itself. */
function inputOf(fn: Readonly<Record<string, unknown>>): string {
  const given = fn['arguments']
  if (typeof given === 'string') return given
  return given === undefined || given === null ? '' : JSON.stringify(given)
}
