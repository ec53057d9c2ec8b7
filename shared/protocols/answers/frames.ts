import type { JsonObject } from '#shared/json-members.ts'
import { isRecord, isTooDeep } from '#shared/json-members.ts'
import type { BadAnswer } from '#shared/protocols/answers/bad-answer.ts'
import { malformed, NO_END, TOO_LONG } from './bad-answer.ts'
import { createSseReader, MAX_EVENT_CHARS } from './sse.ts'

/** The state of a stream's reader. Nothing more is read once either member is set. */
export type StreamState = {
  /** True after the protocol's own end mark. */
  isDone: boolean
  failure: BadAnswer | undefined
}

/** A protocol's reader of the frames of a stream. Each part adds to its own state, or sets its failure. */
export type FrameGrammar = {
  /** Takes a frame: the JSON object in the data of one event, with the text of that data. */
  takeFrame(frame: JsonObject, text: string): void
  /** Takes `[DONE]`, which some providers send needlessly. Returns false when nothing after it is read. */
  takeDoneMark(): boolean
  /**
   * The stream has stopped before its protocol's end mark. Returns false when it had not given a finish reason either.
   */
  takeStop(): boolean
}

/** Reads a stream from bytes that may be cut anywhere. */
export type FrameReader = {
  push(chunk: Buffer): void
  /** Call it once when the provider has finished. A stream without its end mark fails here. */
  end(): void
}

/** The loop from a provider's bytes to the frames of its protocol. */
export function frameReader(state: StreamState, grammar: FrameGrammar, maxChars = MAX_EVENT_CHARS): FrameReader {
  const sse = createSseReader((data) => takeData(state, grammar, data), maxChars)
  return {
    push(chunk) {
      if (state.isDone || state.failure) return
      sse.push(chunk)
      if (sse.isTooLong()) state.failure = TOO_LONG
    },
    end() {
      if (state.isDone || state.failure) return
      sse.end()
      if (!state.failure && !state.isDone && !grammar.takeStop()) state.failure = NO_END
    },
  }
}

/** Takes the data of one event; false ends the reading. */
function takeData(state: StreamState, grammar: FrameGrammar, data: string): boolean {
  if (data === '[DONE]') return grammar.takeDoneMark()
  const frame = readFrame(data)
  if (typeof frame === 'string') state.failure = malformed(frame)
  else grammar.takeFrame(frame, data)
  return state.failure === undefined && !state.isDone
}

/** The object in one event, or the text of its fault. */
function readFrame(data: string): JsonObject | string {
  if (isTooDeep(data)) return 'a frame that nests too deep'
  try {
    const value: unknown = JSON.parse(data)
    // Google puts an error into an array.
    const frame: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value
    return isRecord(frame) ? frame : 'a frame that is not an object'
  } catch {
    return 'a frame that is not JSON'
  }
}
