import { StringDecoder } from 'node:string_decoder'
import { parseJson } from '#shared/parse-json.ts'
import type { Reply } from './reply.ts'

/** A larger whole body is sent untranslated. */
const MAX_HELD_BYTES = 262_144
/** Pieces up to this size are small on purpose, so their translation is cut into pieces as small. */
const SMALL_PIECE_BYTES = 4

/** The translation of chats to another protocol. */
export type ReplyTranslation = {
  /** A whole body, or an error. */
  whole(body: unknown, status: number): unknown
  /** The events for the data of successive chunks. */
  events(): (data: string) => string
  /** The type of a stream of bytes, whose events have a character per byte. Absent for a stream of events in text. */
  readonly streamType?: string
}

/**
 * A reply to which behaviours write chats while clients receive another protocol. Whole bodies and events are
 * translated. Other writes, such as broken frames, comments and foreign events, are sent unchanged.
 */
export function translatedReply(reply: Reply, translation: ReplyTranslation): Reply {
  let translator: ReturnType<typeof streamTranslator> | undefined
  let heldReply: { status: number; headers: Parameters<Reply['headers']>[1]; bytes: Buffer[]; size: number } | undefined

  /** Sends the rest of a whole body, translated when it is complete. */
  function release(isComplete: boolean): string | Uint8Array {
    if (heldReply === undefined) return ''
    const { status, headers, bytes } = heldReply
    heldReply = undefined
    const raw = Buffer.concat(bytes)
    const body = isComplete ? parseJson(raw.toString('utf8')) : undefined
    const text = body === undefined ? raw : JSON.stringify(translation.whole(body, status))
    const { 'content-length': _length, ...rest } = headers
    reply.headers(status, isComplete ? rest : headers)
    return text
  }

  return {
    ...reply,
    headers(status, headers) {
      heldReply = { status, headers, bytes: [], size: 0 }
    },
    openStream() {
      const { streamType } = translation
      translator = streamTranslator(translation.events(), streamType !== undefined)
      if (streamType === undefined) reply.openStream()
      else reply.headers(200, { 'content-type': streamType })
    },
    async write(bytes) {
      if (translator !== undefined) return writePieces(reply, translator(bytes), Buffer.byteLength(bytes))
      if (heldReply === undefined) return reply.write(bytes)
      heldReply.bytes.push(Buffer.from(bytes))
      heldReply.size += Buffer.byteLength(bytes)
      if (heldReply.size > MAX_HELD_BYTES) return reply.write(release(false))
    },
    async event(data) {
      if (translator !== undefined) await reply.write(translator(`data: ${data}\n\n`))
    },
    end(bytes) {
      if (translator !== undefined) return reply.end(bytes === undefined ? undefined : translator(bytes))
      if (heldReply === undefined) return reply.end(bytes)
      if (bytes !== undefined) heldReply.bytes.push(Buffer.from(bytes))
      reply.end(release(true))
    },
    json(status, body, headers) {
      reply.json(status, translation.whole(body, status), headers)
    },
    cut() {
      const rest = release(false)
      if (rest.length === 0) return reply.cut()
      // A client that disconnects meanwhile ends the wait early. The connection is over either way.
      const end = () => reply.cut()
      void reply
        .write(rest)
        .then(() => reply.wait(20))
        .then(end, end)
    },
  }
}

/** Translates the lines of a chat stream when they are complete, whatever their line ends. */
function streamTranslator(make: (data: string) => string, isBinary: boolean): (bytes: string | Uint8Array) => Buffer {
  const utf8 = new StringDecoder('utf8')
  let rest = ''
  return (bytes) => {
    rest += typeof bytes === 'string' ? bytes : utf8.write(Buffer.from(bytes))
    const lines = rest.split(/\r\n|\r|\n/)
    rest = lines.pop() ?? ''
    const write = (line: string) => (line.startsWith('data: ') ? make(line.slice(6)) : isBinary ? '' : `${line}\n`)
    return Buffer.from(lines.map(write).join(''), isBinary ? 'latin1' : 'utf8')
  }
}

async function writePieces(reply: Reply, bytes: Buffer, pieceBytes: number): Promise<void> {
  if (bytes.length === 0) return
  if (pieceBytes > SMALL_PIECE_BYTES) return reply.write(bytes)
  for (let at = 0; at < bytes.length; at += SMALL_PIECE_BYTES) {
    await reply.write(bytes.subarray(at, at + SMALL_PIECE_BYTES))
    await reply.flush()
  }
}
