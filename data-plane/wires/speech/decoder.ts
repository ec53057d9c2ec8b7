import type { Decoder } from '#data-plane/call.ts'
import type { SpeechRequest } from './read-request.ts'
import { FORMATS } from './read-request.ts'

/** Media types of audio that are passed on; any other is no answer. */
const AUDIO_TYPES: ReadonlySet<string> = new Set([
  ...Object.values(FORMATS),
  'audio/mp3',
  'audio/opus',
  'audio/x-aac',
  'audio/x-flac',
  'audio/wave',
  'audio/x-wav',
  'audio/l16',
])
/** Types that say nothing about the audio: the buyer then gets the type of the requested format. */
const UNNAMED_TYPES: ReadonlySet<string> = new Set(['application/octet-stream', 'binary/octet-stream'])
/** The parameters without which raw samples cannot be played. */
const SAMPLE_PARAMETER = /^(?:rate|channels)=\d{1,6}$/

/** Audio: bytes are passed on as they arrive. It has no place for an error or a keep-alive. */
export function speechDecoder({ format }: SpeechRequest): Decoder {
  let contentType: string = FORMATS[format]
  let pieces = 0
  let bytes = 0
  return {
    head: {
      contentType: () => contentType,
      takes({ status, contentType: given }) {
        const [essence = '', ...parameters] = given.split(';').map((part) => part.trim())
        if (AUDIO_TYPES.has(essence)) {
          contentType = [essence, ...parameters.filter((part) => SAMPLE_PARAMETER.test(part))].join('; ')
        }
        return status === 200 && (AUDIO_TYPES.has(essence) || UNNAMED_TYPES.has(essence))
      },
      // The price of speech per character follows from the text of the request.
      isPriced: () => true,
    },
    push(chunk) {
      if (chunk.length === 0) return ''
      pieces++
      bytes += chunk.length
      return chunk
    },
    end() {
      // The end of the connection is the end of the audio.
    },
    contentPieces: () => pieces,
    isDone: () => false,
    failure: () => undefined,
    ending: () => ({ reported: { insaneFields: 0 }, finishReason: null, contentBytes: bytes, reasoningBytes: 0 }),
    stop() {
      // Audio has no limit of its own: it ends when the text does.
    },
    finish: () => '',
    fail: () => '',
    keepAlive: () => '',
  }
}
