import type { JsonObject } from '#shared/json-members.ts'
import { isRecord, readJsonObject } from '#shared/json-members.ts'

/** The most calls that are read from one answer. */
const MAX_TOOL_CALLS = 128
const MAX_ID_CHARS = 256

/** A piece of a call: its head once, as soon as there is a name, and the input that came with it. */
export type CallPiece = {
  /** The index among the calls of the answer, from 0 and without gaps, whatever the provider counts from. */
  readonly index: number
  readonly head: CallHead | undefined
  readonly input: string
  /** Members that only the provider understands. */
  readonly members: JsonObject | undefined
}

/** The head of a call. Its id is unique: the provider's, or a new one when it gives none or repeats another call's. */
export type CallHead = { readonly id: string; readonly name: string }

type Call = {
  id: string | undefined
  name: string
  /** The index among the started calls; undefined without a name yet. */
  index: number | undefined
  /** Input that came before the name. */
  waiting: string
  /** Members that came before the name. */
  members: JsonObject | undefined
  /** The whole input of a call without id and index, which is over only when its input is complete. */
  argumentsText: string | undefined
  /** The call that a nameless one may continue: some providers give each piece another id. */
  readonly before: Call | undefined
  /** The number of the delta that named it last. */
  nameIndex: number
}

/** The calls of an answer, put together from pieces. */
export type CallAssembly = {
  /** The pieces of one delta, or the calls of a whole message. */
  take(entries: readonly unknown[]): readonly CallPiece[]
  /** The rest at the end. A call without a name is dropped. */
  end(): readonly CallPiece[]
}

type State = {
  readonly calls: Call[]
  readonly byId: Map<string, Call>
  readonly byIndex: Map<number | string, Call>
  /** Calls without an index, by their places in a delta of several. */
  readonly byPlace: Call[]
  last: Call | undefined
  callCount: number
  deltas: number
}

/** The members of a delta's entry that identify its call. */
type Entry = {
  readonly id: string | undefined
  readonly index: number | string | undefined
  readonly name: string
  readonly input: string
  readonly isWhole: boolean
  readonly members: JsonObject | undefined
  /** The place in a delta of several entries. */
  readonly place: number | undefined
}

const NOTHING: readonly CallPiece[] = []

/**
 * Assembles the calls of one answer. The id identifies a call: a new id is a new call, even under another call's index.
 * Without an id the index decides; without both, the place in the delta.
 */
export function assembleCalls(): CallAssembly {
  const state: State = {
    calls: [],
    byId: new Map(),
    byIndex: new Map(),
    byPlace: [],
    last: undefined,
    callCount: 0,
    deltas: 0,
  }
  return {
    take(entries) {
      state.deltas++
      const pieces: CallPiece[] = []
      for (const [place, entryValue] of entries.entries()) {
        if (!isRecord(entryValue)) continue
        const entry = readEntry(entryValue, entries.length > 1 ? place : undefined)
        const call = callOf(state, entry)
        if (call !== undefined) addPiece(state, call, entry, pieces)
      }
      return pieces
    },
    end: () => restOf(state),
  }
}

function readEntry(value: Readonly<Record<string, unknown>>, place: number | undefined): Entry {
  const { id, index } = value
  const fn = isRecord(value['function']) ? value['function'] : {}
  const { name, arguments: args } = fn
  return {
    id: typeof id === 'string' && id !== '' ? id.slice(0, MAX_ID_CHARS) : undefined,
    index: typeof index === 'number' || typeof index === 'string' ? index : undefined,
    name: typeof name === 'string' ? name : '',
    input: argumentsText(args),
    isWhole: isRecord(args),
    members: opaqueMembers(value),
    place,
  }
}

/** Members of a call that providers expect back. */
const OPAQUE = ['extra_content', 'thought_signature', 'thoughtSignature', 'provider_specific_fields'] as const
/** The most characters of such members that are passed on. */
const MAX_OPAQUE_CHARS = 65_536

/** The members of a call that only its provider understands. Undefined where it has none. */
export function opaqueMembers(call: JsonObject): JsonObject | undefined {
  let named: Record<string, unknown> | undefined
  for (const name of OPAQUE) {
    const value = call[name]
    if (value === undefined || value === null) continue
    named ??= {}
    named[name] = value
  }
  return named === undefined || JSON.stringify(named).length > MAX_OPAQUE_CHARS ? undefined : named
}

/** The arguments of a call as text. Some providers send the object itself. */
export function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

function callOf(state: State, entry: Entry): Call | undefined {
  const callAtIndex = entry.index === undefined ? undefined : state.byIndex.get(entry.index)
  if (entry.id !== undefined) return callById(state, entry, entry.id, callAtIndex)
  if (callAtIndex !== undefined) return namesAnother(state, callAtIndex, entry) ? newCall(state, entry) : callAtIndex
  if (entry.index !== undefined) return newCall(state, entry)
  const call = entry.place === undefined ? state.last : state.byPlace[entry.place]
  return call === undefined || namesAnother(state, call, entry) ? newCall(state, entry) : call
}

function callById(state: State, entry: Entry, id: string, callAtIndex: Call | undefined): Call | undefined {
  const callOfId = state.byId.get(id)
  if (callOfId !== undefined) {
    // Two heads with one id are two calls, of which the second needs an id of its own.
    const isElsewhere = entry.index !== undefined && callAtIndex !== callOfId
    const isAnother = entry.name !== '' && callOfId.index !== undefined && isElsewhere
    return isAnother || namesAnother(state, callOfId, entry) ? newCall(state, { ...entry, id: undefined }) : callOfId
  }
  const isNameless = entry.name === ''
  if (callAtIndex !== undefined && callAtIndex.id === undefined && (isNameless || callAtIndex.index === undefined)) {
    callAtIndex.id = id
    state.byId.set(id, callAtIndex)
    return callAtIndex
  }
  if (callAtIndex?.before !== undefined && callAtIndex.index === undefined && isNameless) {
    state.byId.set(id, callAtIndex)
    return callAtIndex
  }
  return newCall(state, entry, isNameless ? callAtIndex : undefined)
}

/** True for an entry that names a call that already has a name, and so begins another call. */
function namesAnother({ deltas }: State, call: Call, { name, isWhole }: Entry): boolean {
  if (name === '' || call.index === undefined) return false
  if (name !== call.name || call.nameIndex === deltas || isWhole) return true
  return call.argumentsText !== undefined && readJsonObject(call.argumentsText) !== undefined
}

function newCall(state: State, { id, index, place }: Entry, before?: Call): Call | undefined {
  if (state.calls.length >= MAX_TOOL_CALLS) return undefined
  const isLoose = id === undefined && index === undefined
  const call: Call = {
    id,
    name: '',
    index: undefined,
    waiting: '',
    members: undefined,
    argumentsText: isLoose ? '' : undefined,
    before,
    nameIndex: 0,
  }
  state.calls.push(call)
  if (id !== undefined) state.byId.set(id, call)
  if (index !== undefined) state.byIndex.set(index, call)
  else if (place !== undefined) state.byPlace[place] = call
  return call
}

function addPiece(state: State, call: Call, { name, input, members }: Entry, pieces: CallPiece[]): void {
  state.last = call
  if (call.argumentsText !== undefined) call.argumentsText += input
  if (name !== '') call.nameIndex = state.deltas
  if (call.index !== undefined) {
    pieces.push({ index: call.index, head: undefined, input, members })
    return
  }
  call.waiting += input
  if (members !== undefined) call.members = { ...call.members, ...members }
  if (name === '') return
  call.name = name
  call.index = state.callCount++
  call.id ??= freeId(state, call.index)
  pieces.push({ index: call.index, head: { id: call.id, name }, input: call.waiting, members: call.members })
  call.waiting = ''
}

function freeId({ byId }: State, index: number): string {
  let id = `call_${index}`
  while (byId.has(id)) id += '_'
  return id
}

function restOf({ calls }: State): readonly CallPiece[] {
  if (calls.every(({ waiting }) => waiting === '')) return NOTHING
  const pieces: CallPiece[] = []
  for (const { before, index, waiting } of calls) {
    if (index === undefined && before?.index !== undefined && waiting !== '') {
      pieces.push({ index: before.index, head: undefined, input: waiting, members: undefined })
    }
  }
  return pieces
}
