import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { forwardBody } from '#data-plane/wires/forward-body.ts'
import { leftOutFor } from '#data-plane/wires/unknown-members.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import { forwardPath } from '#shared/protocols/index.ts'
import { embeddingsDecoder } from './decoder.ts'
import type { EmbeddingsRequest } from './read-request.ts'
import { readEmbeddingsRequest } from './read-request.ts'

/** Tokens that a model may set around each input. */
const TOKENS_AN_INPUT = 8
const EDITS = { hidden: new Set(['stream']), gated: new Set(['encoding_format', 'dimensions']) }

/** OpenAI's embeddings. */
export const embeddings: ModelWire = defineWire<EmbeddingsRequest>({
  name: 'embeddings',
  envelope: openAiEnvelope,
  parse: readEmbeddingsRequest,
  demand: ({ model, inputs, wantsDimensions, asked, hints, floorPercents, maxCostMicro }) => ({
    kind: 'model',
    endpoint: 'embeddings',
    model,
    isStreamed: false,
    hints,
    floorPercents,
    needs: { imageInput: false, costly: asked.costly, ...(wantsDimensions ? { parameters: ['dimensions'] } : {}) },
    inputParam: 'input',
    bounds: {
      inputTokens: inputs.mostTokens + TOKENS_AN_INPUT * inputs.count,
      inputImages: 0,
      inputs: inputs.count,
      inputBytes: inputs.bytes,
      maxOutputTokens: 0,
      choices: 1,
    },
    maxCostMicro,
  }),
  encode: (request, plan) => ({
    path: forwardPath(plan.offer, 'embeddings'),
    ...forwardBody(request.json, plan, EDITS, leftOutFor(plan.offer, request.asked)),
    contentType: 'application/json',
    accept: 'application/json',
  }),
  decoder: embeddingsDecoder,
})
