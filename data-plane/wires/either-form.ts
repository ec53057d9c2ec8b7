import type { AnswerHead, Decoder } from '#data-plane/call.ts'
import { COLON, OPEN_LIST, OPEN_OBJECT } from '#shared/json-bytes.ts'
import { EVENT_STREAM } from '#shared/protocols/provider-request.ts'

/** The first letters of the fields of an event: `data`, `event`, `id`, `retry`. */
const FIELDS: ReadonlySet<number> = new Set([...'deir'].map((letter) => letter.charCodeAt(0)))
/** White space that may stand before an answer, and the bytes of a mark of UTF-8. */
const AHEAD: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf])

/**
 * Reads an answer in the form in which it comes. Some providers answer a call for a stream with one JSON object, and a
 * call for an object with a stream; the first byte tells. Google puts an error into a list. `read` makes the decoder of
 * either form; both write what was asked for. `streamType` is the content type of the provider's streams.
 */
export function eitherForm(
  isStreamed: boolean,
  read: (isEvents: boolean) => Decoder,
  streamType: string = EVENT_STREAM,
): Decoder {
  const askedDecoder = read(isStreamed)
  const takesHead = ({ status, contentType }: AnswerHead) =>
    status === 200 && (contentType.startsWith(streamType) || contentType.includes('json'))
  const decoder: Decoder = {
    ...askedDecoder,
    takesHead,
    push(chunk) {
      const first = chunk.find((byte) => !AHEAD.has(byte))
      if (first !== undefined) {
        const isOther = isStreamed ? first === OPEN_OBJECT || first === OPEN_LIST : first === COLON || FIELDS.has(first)
        Object.assign(decoder, isOther ? { ...NONE, ...read(!isStreamed) } : askedDecoder, { takesHead })
      }
      return first === undefined ? askedDecoder.push(chunk) : decoder.push(chunk)
    },
  }
  return decoder
}

/** The parts that one form may have and the other not. */
const NONE: { readonly finishInPieces?: undefined } = { finishInPieces: undefined }
