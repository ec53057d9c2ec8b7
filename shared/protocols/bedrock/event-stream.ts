import { crc32 } from 'node:zlib'
import type { JsonObject } from '#shared/json-members.ts'
import { isTooDeep, readJsonObject } from '#shared/json-members.ts'
import { malformed, NO_END, TOO_LONG } from '#shared/protocols/answers/bad-answer.ts'
import type { FrameReader, StreamState } from '#shared/protocols/answers/frames.ts'
import { errorInText } from '#shared/protocols/answers/openai-answer.ts'

/** The type of a stream of binary events. */
export const AMAZON_EVENT_STREAM = 'application/vnd.amazon.eventstream'

/** Bytes of the lengths and their checksum, and of the checksum at the end. */
const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
const MAX_MESSAGE_BYTES = 1_048_576
const MAX_HEADERS_BYTES = 131_072
const MAX_TEXT_BYTES = 65_536

/** Bytes of the value of a header, by its type. Types 6 and 7 (bytes and texts) say their own length. */
const VALUE_BYTES: readonly (number | undefined)[] = [0, 0, 1, 2, 4, 8, undefined, undefined, 8, 16]
const BYTES_TYPE = 6
const TEXT_TYPE = 7

/** A message of a stream: the type of its event or exception, and its payload. */
export type AmazonMessage = {
  readonly kind: 'event' | 'exception'
  readonly type: string
  readonly payload: JsonObject
}

/** A protocol's reader of the messages of a stream. */
export type MessageGrammar = {
  takeMessage(message: AmazonMessage): void
  /** The stream has stopped. Returns false without a finish reason. */
  takeStop(): boolean
}

/**
 * Reads a stream of binary messages from bytes that may be cut anywhere. Each message has its length, headers, a JSON
 * payload and two CRC32 checksums. Inconsistent bytes end the reading, because the start of the next message is
 * unknown.
 */
export function amazonFrames(state: StreamState, grammar: MessageGrammar): FrameReader {
  let waiting: Buffer[] = []
  let bytes = 0
  /** Bytes that are needed before the next step. */
  let needed = PRELUDE_BYTES
  const headersIn = headersReader()

  function takeAll(): void {
    let all = waiting.length === 1 ? (waiting[0] ?? NOTHING) : Buffer.concat(waiting)
    needed = PRELUDE_BYTES
    while (all.length >= PRELUDE_BYTES && state.failure === undefined && !state.isDone) {
      const total = lengthOf(state, all)
      if (total === undefined) return
      needed = total
      if (all.length < total) break
      takeMessage(state, grammar, all.subarray(0, total), headersIn)
      all = all.subarray(total)
      needed = PRELUDE_BYTES
    }
    waiting = all.length === 0 ? [] : [all]
    bytes = all.length
  }

  return {
    push(chunk) {
      if (state.isDone || state.failure) return
      waiting.push(chunk)
      bytes += chunk.length
      if (bytes >= needed) takeAll()
    },
    end() {
      if (state.isDone || state.failure) return
      if (bytes > 0 || !grammar.takeStop()) state.failure = NO_END
    },
  }
}

const NOTHING = Buffer.alloc(0)

/** The length of the message that begins here. Undefined, and a failure, for bytes that begin no message. */
function lengthOf(state: StreamState, bytes: Buffer): number | undefined {
  if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) {
    // A proxy in front of the provider may report a fault in plain text.
    const bodyError = errorInText(bytes.toString('utf8', 0, MAX_TEXT_BYTES))
    state.failure = bodyError ?? malformed('a message with a wrong checksum')
    return undefined
  }
  const total = bytes.readUInt32BE(0)
  const headers = bytes.readUInt32BE(4)
  if (total > MAX_MESSAGE_BYTES) state.failure = TOO_LONG
  else if (headers > MAX_HEADERS_BYTES || PRELUDE_BYTES + headers + CHECKSUM_BYTES > total) {
    state.failure = malformed('a message whose lengths do not add up')
  }
  return state.failure === undefined ? total : undefined
}

function takeMessage(state: StreamState, grammar: MessageGrammar, message: Buffer, headersIn: ReadHeaders): void {
  const end = message.length - CHECKSUM_BYTES
  if (crc32(message.subarray(0, end)) !== message.readUInt32BE(end)) {
    state.failure = malformed('a message with a wrong checksum')
    return
  }
  const payloadAt = PRELUDE_BYTES + message.readUInt32BE(4)
  const headers = headersIn(message.subarray(PRELUDE_BYTES, payloadAt))
  const text = message.toString('utf8', payloadAt, end)
  const payload = text === '' ? {} : isTooDeep(text) ? undefined : readJsonObject(text)
  if (headers === undefined || payload === undefined) {
    state.failure = malformed('an unreadable message')
    return
  }
  const isEvent = headers.get(':message-type') === 'event'
  const type = headers.get(isEvent ? ':event-type' : ':exception-type') ?? headers.get(':error-code') ?? ''
  const words = headers.get(':error-message')
  const errorBody = words === undefined ? payload : { message: words, ...payload }
  grammar.takeMessage({ kind: isEvent ? 'event' : 'exception', type, payload: isEvent ? payload : errorBody })
}

type ReadHeaders = (bytes: Buffer) => ReadonlyMap<string, string> | undefined

/** Reads headers. Most messages of a stream repeat those of the one before, which are not parsed again. */
function headersReader(): ReadHeaders {
  let last: Buffer = NOTHING
  let headers: ReadonlyMap<string, string> | undefined
  return (bytes) => {
    if (headers === undefined || !last.equals(bytes)) {
      headers = readHeaders(bytes)
      last = bytes
    }
    return headers
  }
}

/** The headers whose values are texts. Undefined where the bytes end within one. */
function readHeaders(bytes: Buffer): ReadonlyMap<string, string> | undefined {
  const headers = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0)
    const name = bytes.toString('utf8', at + 1, nameEnd)
    const type = bytes[nameEnd]
    const hasLength = type === TEXT_TYPE || type === BYTES_TYPE
    const from = nameEnd + (hasLength ? 3 : 1)
    if (type === undefined || from > bytes.length) return undefined
    const length = hasLength ? bytes.readUInt16BE(nameEnd + 1) : VALUE_BYTES[type]
    if (length === undefined || from + length > bytes.length) return undefined
    if (type === TEXT_TYPE) headers.set(name, bytes.toString('utf8', from, from + length))
    at = from + length
  }
  return headers
}
