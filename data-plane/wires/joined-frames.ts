import type { Decoder, Receipt } from '#data-plane/call.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isRecord, readJsonObject } from '#shared/json-members.ts'

/** The parts of a whole answer that its wire writes around the choices. */
export type JoinedWire = {
  /** `choices` are the elements of the list as JSON text. */
  finish(choices: string, receipt: Receipt): string
  fail: Decoder['fail']
}

/**
 * Reads a stream for a buyer of one object: the frames for a stream's buyer, joined choice by choice. Nothing counts as
 * delivered before the end.
 */
export function joinedFrames(inner: Decoder, wire: JoinedWire): Decoder {
  let frames = ''
  let isOver = false
  return {
    ...inner,
    push(chunk) {
      frames += String(inner.push(chunk))
      return ''
    },
    end() {
      inner.end()
      isOver = true
    },
    // A whole answer is read to the end of its bytes, after which `end` is called.
    isDone: () => false,
    contentPieces: () => (isOver ? inner.contentPieces() : 0),
    ending() {
      const ending = inner.ending()
      return isOver ? ending : { ...ending, contentBytes: 0, reasoningBytes: 0 }
    },
    finish: (receipt) => wire.finish(joinChoices(frames + inner.finish(receipt)), receipt),
    fail: wire.fail,
    keepAlive: () => '',
  }
}

function joinChoices(frames: string): string {
  const calls: (JsonObject | undefined)[] = []
  for (const line of frames.split('\n')) {
    if (!line.startsWith('data: {')) continue
    const choices = readJsonObject(line.slice(6))?.['choices']
    for (const choice of Array.isArray(choices) ? choices.filter(isRecord) : []) {
      const { index } = choice
      if (typeof index === 'number') calls[index] = joinObjects(calls[index] ?? {}, choice)
    }
  }
  return calls.flatMap((choice) => (choice === undefined ? [] : [JSON.stringify(wholeChoice(choice))])).join(',')
}

/** A choice with its deltas as a message. A choice of a text completion has none. */
function wholeChoice({ delta, ...choice }: JsonObject): JsonObject {
  if (!isRecord(delta)) return choice
  const { tool_calls: calls, ...message } = delta
  return {
    ...choice,
    message: {
      role: 'assistant',
      content: null,
      refusal: null,
      ...message,
      ...(Array.isArray(calls) && { tool_calls: calls.map(withoutIndex) }),
    },
    logprobs: choice['logprobs'] ?? null,
  }
}

function withoutIndex(call: unknown): unknown {
  if (!isRecord(call)) return call
  const { index: _, ...rest } = call
  return rest
}

/** Members that are names, and keep their first value. */
const NAMES: ReadonlySet<string> = new Set(['id', 'type', 'role', 'name', 'index'])

function joinObjects(before: JsonObject, next: JsonObject): JsonObject {
  const members: Record<string, unknown> = { ...before }
  for (const name in next) {
    const value = next[name]
    if (value === null && members[name] !== undefined) continue
    members[name] = NAMES.has(name) ? (members[name] ?? value) : joinValues(name, members[name], value)
  }
  return members
}

function joinValues(name: string, before: unknown, next: unknown): unknown {
  if (typeof before === 'string' && typeof next === 'string') return before + next
  if (isRecord(before) && isRecord(next)) return joinObjects(before, next)
  if (!Array.isArray(next)) return next
  const list: readonly unknown[] = Array.isArray(before) ? before : []
  return name === 'tool_calls' ? joinCalls(list, next) : [...list, ...next]
}

function joinCalls(before: readonly unknown[], pieces: readonly unknown[]): readonly unknown[] {
  const calls = [...before]
  for (const piece of pieces) {
    const index = isRecord(piece) ? piece['index'] : undefined
    if (!isRecord(piece) || typeof index !== 'number') continue
    const call = calls[index]
    calls[index] = isRecord(call) ? joinObjects(call, piece) : piece
  }
  return calls
}
