import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import { encodeTranscription } from './encode.ts'
import type { TranscriptionRequest } from './read-request.ts'
import { readTranscriptionRequest } from './read-request.ts'
import { streamedTranscript } from './stream.ts'
import { wholeTranscript } from './whole.ts'

/** OpenAI's speech to text: a form in, a transcript out, priced by the time of the audio or by tokens. */
export const transcriptions: ModelWire = defineWire<TranscriptionRequest>({
  name: 'transcriptions',
  envelope: openAiEnvelope,
  parse: readTranscriptionRequest,
  demand: ({ model, isStreamed, audio, wantsTimestamps, askedMembers, hints, floorPercents, maxCostMicro }) => ({
    kind: 'model',
    endpoint: 'transcription',
    model,
    isStreamed,
    hints,
    floorPercents,
    needs: {
      imageInput: false,
      costly: askedMembers.costly,
      ...(wantsTimestamps ? { parameters: ['timestamp_granularities'] } : {}),
    },
    bounds: {
      inputTokens: 0,
      inputImages: 0,
      inputBytes: 0,
      maxOutputTokens: 0,
      choices: 1,
      units: { most: { milliseconds: audio.mostMs }, least: { milliseconds: audio.leastMs } },
      audio,
    },
    maxCostMicro,
  }),
  encode: encodeTranscription,
  decoder: (request, plan) => (request.isStreamed ? streamedTranscript(plan) : wholeTranscript(request, plan)),
})
