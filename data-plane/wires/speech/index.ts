import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { forwardBody } from '#data-plane/wires/forward-body.ts'
import { leftOutFor } from '#data-plane/wires/unknown-members.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import { forwardPath } from '#shared/protocols/index.ts'
import { isSpokenByTokens } from '#shared/spoken-text.ts'
import { audioFromEvents } from './audio-from-events.ts'
import { speechDecoder } from './decoder.ts'
import { inEvents } from './events.ts'
import type { SpeechRequest } from './read-request.ts'
import { readSpeechRequest } from './read-request.ts'

const EDITS = {
  hidden: new Set(['stream', 'stream_format']),
  gated: new Set<string>(),
  // Speech that is billed by its tokens costs more at a slow speed and with instructions.
  listed: new Set(['speed', 'instructions']),
  renamed: new Map(
    Object.entries(MEDIA_MEMBERS.speech.read).flatMap(([own, names]) => names.map((name) => [name, own] as const)),
  ),
}
/** OpenAI's first voice, which servers of its protocol support, for a request without a voice. */
const USUAL_VOICE = ',"voice":"alloy"'
/** The form of an answer that reports its tokens. */
const IN_EVENTS = ',"stream_format":"sse"'

/** OpenAI's text to speech: JSON in, audio out, priced by the character of the input or by tokens of text and sound. */
export const speech: ModelWire = defineWire<SpeechRequest>({
  name: 'speech',
  envelope: openAiEnvelope,
  parse: readSpeechRequest,
  demand: ({ model, text, askedMembers, hints, floorPercents, maxCostMicro }) => ({
    kind: 'model',
    endpoint: 'speech',
    model,
    isStreamed: true,
    hints,
    floorPercents,
    needs: { imageInput: false, costly: askedMembers.costly },
    bounds: {
      inputTokens: 0,
      inputImages: 0,
      inputBytes: text.inputTokens,
      maxOutputTokens: 0,
      choices: 1,
      units: { most: { characters: text.characters }, least: { characters: text.characters } },
      speech: text,
    },
    maxCostMicro,
  }),
  encode({ json, hasVoice, askedMembers }, plan) {
    const isByTokens = isSpokenByTokens(plan.target.price.unitPrices)
    const edits = { ...EDITS, added: `${hasVoice ? '' : USUAL_VOICE}${isByTokens ? IN_EVENTS : ''}` }
    const { body, adaptedParams } = forwardBody(json, plan, edits, leftOutFor(plan.offer, askedMembers))
    return {
      path: forwardPath(plan.offer, 'speech'),
      body,
      adaptedParams: hasVoice ? adaptedParams : [...adaptedParams, 'voice'],
      contentType: 'application/json',
      accept: isByTokens ? 'text/event-stream, audio/*' : 'audio/*, application/octet-stream',
    }
  },
  decoder(request, plan) {
    const audio = speechDecoder(request)
    const decoder = isSpokenByTokens(plan.target.price.unitPrices) ? audioFromEvents(audio) : audio
    return request.inEvents ? inEvents(decoder, plan) : decoder
  },
})
