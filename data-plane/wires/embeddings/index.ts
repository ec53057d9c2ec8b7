import type { ModelPlan, UpstreamRequest } from '#data-plane/call.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { forwardBody } from '#data-plane/wires/forward-body.ts'
import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import { leftOutFor } from '#data-plane/wires/unknown-members.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import type { JsonObject } from '#shared/json-members.ts'
import { isGiven } from '#shared/json-members.ts'
import { embeddingsCodecOf, forwardPath } from '#shared/protocols/index.ts'
import { embeddingsDecoder } from './decoder.ts'
import type { EmbeddingsRequest } from './read-request.ts'
import { readEmbeddingsRequest } from './read-request.ts'

/** Tokens that a model may set around each input. */
const TOKENS_AN_INPUT = 8
/**
 * The most texts that are translated at once: Google takes no more. Longer lists are forwarded only in OpenAI's
 * protocol.
 */
const MOST_TRANSLATED = 100
/** Members that every protocol gets in its own place. */
const WRITTEN: ReadonlySet<string> = new Set(['model', 'input', 'encoding_format', 'dimensions', 'stream'])
const EDITS = { hidden: new Set(['stream']), gated: new Set(['encoding_format', 'dimensions']) }

/** OpenAI's embeddings. */
export const embeddings: ModelWire = defineWire<EmbeddingsRequest>({
  name: 'embeddings',
  envelope: openAiEnvelope,
  parse: readEmbeddingsRequest,
  demand: ({ model, inputs, texts = [], dimensions, askedMembers, hints, floorPercents, maxCostMicro }) => ({
    kind: 'model',
    endpoint: 'embeddings',
    model,
    isStreamed: false,
    hints,
    floorPercents,
    needs: {
      imageInput: false,
      costly: askedMembers.costly,
      ...(dimensions !== undefined && { parameters: ['dimensions'] }),
      ...((texts.length === 0 || texts.length > MOST_TRANSLATED) && { openAiFormat: true }),
    },
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
  encode,
  decoder: embeddingsDecoder,
})

/** The unchanged request for a provider with OpenAI's protocol, or the same in the provider's own. */
function encode(request: EmbeddingsRequest, plan: ModelPlan): UpstreamRequest {
  const { json, texts = [], dimensions, askedMembers } = request
  const codec = embeddingsCodecOf(plan.offer)
  if (codec !== undefined) return codec.encode({ texts, dimensions, extras: extrasOf(json.body) }, plan)
  return {
    path: forwardPath(plan.offer, 'embeddings'),
    ...forwardBody(json, plan, EDITS, leftOutFor(plan.offer, askedMembers)),
    contentType: 'application/json',
    accept: 'application/json',
  }
}

function extrasOf(body: JsonObject): JsonObject {
  const isExtra = (name: string) => !WRITTEN.has(name) && !ROUTING_FIELDS.has(name) && isGiven(body[name])
  return Object.fromEntries(Object.entries(body).filter(([name]) => isExtra(name)))
}
