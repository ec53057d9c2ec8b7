import { dialectOf } from '#data-plane/dialects/index.ts'
import { translate } from '#data-plane/dialects/translate.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import type { ResponsesRequest } from './read-request.ts'
import { readResponsesRequest } from './read-request.ts'
import { responsesWriter } from './writer.ts'

/** Tokens that the frame around each item may cost. */
const TOKENS_AN_ITEM = 64

/** OpenAI's responses, whole and streamed, with any seller of text. Nothing is kept between calls. */
export const responses: AnyWire = defineWire<ResponsesRequest>({
  name: 'responses',
  envelope: openAiEnvelope,
  failover: 'until-first-content',
  parse: readResponsesRequest,
  demand: ({ model, conversation, content, textBytes, itemCount, hints, floorPercents, maxCostMicro }) => ({
    endpoint: 'chat',
    model,
    isStreamed: conversation.isStreamed,
    hints,
    floorPercents,
    needs: { imageInput: content.images > 0 },
    inputParam: 'input',
    bounds: {
      inputTokens: textBytes + TOKENS_AN_ITEM * itemCount,
      inputImages: content.images,
      inputBytes: content.spokenChars,
      maxOutputTokens: conversation.maxTokens,
      choices: 1,
    },
    maxCostMicro,
  }),
  encode: ({ conversation }, plan) => dialectOf(plan.offer).encode(conversation, plan),
  decoder: (request, plan) =>
    translate(
      dialectOf(plan.offer).reader(plan, request.conversation.isStreamed),
      responsesWriter(request, plan),
      plan,
    ),
})
