import type { Decoder } from '#data-plane/call.ts'
import { malformed } from '#shared/protocols/answers/bad-answer.ts'
import type { StreamState } from '#shared/protocols/answers/frames.ts'
import { frameReader } from '#shared/protocols/answers/frames.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeUsage } from '#shared/protocols/answers/reported-usage.ts'

/** Characters of an event: a piece of sound in base64. */
const MAX_SOUND_EVENT_CHARS = 8_388_608
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

type State = StreamState & { readonly reported: ReportedUsage; readonly sound: Buffer[] }

/**
 * The sound of a provider that was asked for OpenAI's speech events, because only they report the billed tokens. A
 * provider that answers with plain sound reports none.
 */
export function audioFromEvents(audio: Decoder): Decoder {
  const state: State = { isDone: false, failure: undefined, reported: { insaneFields: 0 }, sound: [] }
  let isInEvents = false
  const frames = frameReader(
    state,
    {
      takeFrame(event) {
        state.failure = errorInside(event)
        const { type, audio: piece, usage } = event
        if (type === 'speech.audio.delta' && state.failure === undefined) {
          if (typeof piece === 'string' && BASE64.test(piece)) state.sound.push(Buffer.from(piece, 'base64'))
          else state.failure = malformed('a piece that is no sound')
        }
        if (type !== 'speech.audio.done') return
        mergeUsage(state.reported, usage)
        state.isDone = true
      },
      takeDoneMark: () => false,
      takeStop: () => false,
    },
    MAX_SOUND_EVENT_CHARS,
  )
  return {
    ...audio,
    head: {
      ...audio.head,
      takes(head) {
        isInEvents = head.contentType.startsWith('text/event-stream')
        return isInEvents ? head.status === 200 : audio.head?.takes?.(head) === true
      },
      isPriced: () => false,
    },
    push(chunk) {
      if (!isInEvents) return audio.push(chunk)
      frames.push(chunk)
      return audio.push(Buffer.concat(state.sound.splice(0)))
    },
    end() {
      if (isInEvents) frames.end()
    },
    isDone: () => state.isDone,
    failure: () => state.failure,
    ending: () => ({ ...audio.ending(), reported: state.reported }),
  }
}
