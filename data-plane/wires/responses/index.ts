import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { putInlinedBack } from '#data-plane/wires/inlined-data.ts'
import { textDemand } from '#data-plane/wires/text-demand.ts'
import { translateAnswer, translateRequest } from '#data-plane/wires/translate.ts'
import { withWholeIntegers } from '#data-plane/wires/whole-integers.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import type { ResponsesRequest } from './read-request.ts'
import { readResponsesRequest } from './read-request.ts'
import { sameProtocol } from './same-protocol/index.ts'
import { responsesWriter } from './writer.ts'

/** OpenAI's Responses API, whole and streamed, with any seller of text. Nothing is kept between calls. */
export const responses: ModelWire = defineWire<ResponsesRequest>({
  name: 'responses',
  envelope: openAiEnvelope,
  parse: readResponsesRequest,
  demand: (request) => {
    const { isStreamed, maxTokens, responseFormat } = request.conversation
    const plain = { imageInput: request.content.images > 0, costly: request.askedMembers.costly }
    const needs = responseFormat === undefined ? plain : { ...plain, formatParam: 'text.format' }
    return {
      inputParam: 'input',
      ...textDemand({ isStreamed, maxTokens, messageCount: request.itemCount, ...request }, needs),
    }
  },
  encode(request, plan) {
    const { conversation, json } = request
    const encoded = sameProtocol.applies(request, plan)
      ? sameProtocol.encode(request, plan)
      : translateRequest(conversation, plan)
    return putInlinedBack(withWholeIntegers(encoded, json), json)
  },
  decoder: (request, plan) =>
    translateAnswer(
      plan,
      request.conversation,
      (reported) => responsesWriter(request, plan, reported),
      sameProtocol.applies(request, plan) ? (reported) => sameProtocol.writer(request, plan, reported) : undefined,
    ),
})
