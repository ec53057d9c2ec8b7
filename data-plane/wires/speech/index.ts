import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { forwardBody } from '#data-plane/wires/forward-body.ts'
import { leftOutFor } from '#data-plane/wires/unknown-members.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import { MEDIA_MEMBERS } from '#shared/media-members.ts'
import { forwardPath } from '#shared/protocols/index.ts'
import { speechDecoder } from './decoder.ts'
import { inEvents } from './events.ts'
import type { SpeechRequest } from './read-request.ts'
import { readSpeechRequest } from './read-request.ts'

const EDITS = {
  hidden: new Set(['stream', 'stream_format']),
  gated: new Set<string>(),
  // A voice that is billed by its tokens costs more for slow speech and for words about it. The price is of characters.
  listed: new Set(['speed', 'instructions']),
  renamed: new Map(
    Object.entries(MEDIA_MEMBERS.speech.read).flatMap(([own, names]) => names.map((name) => [name, own] as const)),
  ),
}
/** OpenAI's first voice, which servers of its protocol know, for a request that names none. */
const USUAL_VOICE = ',"voice":"alloy"'

/** OpenAI's text to speech: JSON in, audio out, sold by the character of the input. */
export const speech: ModelWire = defineWire<SpeechRequest>({
  name: 'speech',
  envelope: openAiEnvelope,
  parse: readSpeechRequest,
  demand: ({ model, characters, asked, hints, floorPercents, maxCostMicro }) => ({
    kind: 'model',
    endpoint: 'speech',
    model,
    isStreamed: true,
    hints,
    floorPercents,
    needs: { imageInput: false, costly: asked.costly },
    bounds: {
      inputTokens: 0,
      inputImages: 0,
      inputBytes: 0,
      maxOutputTokens: 0,
      choices: 1,
      units: { most: { characters }, least: { characters } },
    },
    maxCostMicro,
    hasFixedCharge: true,
  }),
  encode({ json, hasVoice, asked }, plan) {
    const edits = hasVoice ? EDITS : { ...EDITS, added: USUAL_VOICE }
    const { body, adaptedParams } = forwardBody(json, plan, edits, leftOutFor(plan.offer, asked))
    return {
      path: forwardPath(plan.offer, 'speech'),
      body,
      adaptedParams: hasVoice ? adaptedParams : [...adaptedParams, 'voice'],
      contentType: 'application/json',
      accept: 'audio/*, application/octet-stream',
    }
  },
  decoder: (request, plan) => (request.inEvents ? inEvents(speechDecoder(request), plan) : speechDecoder(request)),
})
