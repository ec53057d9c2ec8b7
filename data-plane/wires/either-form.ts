import type { AnswerHead, Decoder, DecoderHead } from '#data-plane/call.ts'
import { COLON, OPEN_LIST, OPEN_OBJECT } from '#shared/json-bytes.ts'
import { EVENT_STREAM } from '#shared/protocols/provider-request.ts'

/** The first letters of the fields of an event: `data`, `event`, `id`, `retry`. */
const FIELDS: ReadonlySet<number> = new Set([...'deir'].map((letter) => letter.charCodeAt(0)))
/** White space that may precede an answer, and the bytes of a UTF-8 mark. */
const AHEAD: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf])

/** The content type of the provider's streams, and the reader of an answer's headers. */
type HeadOptions = Pick<DecoderHead, 'takeHeaders'> & { readonly streamType?: string | undefined }

/**
 * Reads an answer in the form in which it arrives. Some providers answer a request for a stream with one JSON object,
 * and a request for an object with a stream; the first byte shows the form. Google wraps an error in a list. `read`
 * makes the decoder of either form; both write the requested form.
 */
export function eitherForm(
  isStreamed: boolean,
  read: (isEvents: boolean) => Decoder,
  { streamType = EVENT_STREAM, takeHeaders }: HeadOptions = {},
): Decoder {
  const askedDecoder = read(isStreamed)
  const takes = ({ status, contentType }: AnswerHead) =>
    status === 200 && (contentType.startsWith(streamType) || contentType.includes('json'))
  const head: DecoderHead = takeHeaders === undefined ? { takes } : { takes, takeHeaders }
  const decoder: Decoder = {
    ...askedDecoder,
    head,
    push(chunk) {
      const first = chunk.find((byte) => !AHEAD.has(byte))
      if (first !== undefined) {
        const isOther = isStreamed ? first === OPEN_OBJECT || first === OPEN_LIST : first === COLON || FIELDS.has(first)
        Object.assign(decoder, isOther ? { ...PLAIN, ...read(!isStreamed) } : askedDecoder, { head })
      }
      return first === undefined ? askedDecoder.push(chunk) : decoder.push(chunk)
    },
  }
  return decoder
}

/** The members that one form may have and the other lacks. */
const PLAIN: Pick<Decoder, 'whole'> = { whole: undefined }
