import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { putInlinedBack } from '#data-plane/wires/inlined-data.ts'
import { textDemand } from '#data-plane/wires/text-demand.ts'
import { translateAnswer, translateRequest } from '#data-plane/wires/translate.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import { isRecord } from '#shared/json-members.ts'
import type { ChatRequest } from './read-request.ts'
import { readChatRequest } from './read-request.ts'
import { sameProtocol } from './same-protocol/index.ts'
import { toConversation } from './to-conversation.ts'
import { chatWriter } from './writer.ts'

/** OpenAI's chat completions, whole and streamed. */
export const chat: ModelWire = defineWire<ChatRequest>({
  name: 'chat',
  envelope: openAiEnvelope,
  parse: readChatRequest,
  demand: (request) =>
    textDemand(request, {
      imageInput: request.content.images > 0,
      openAiFormat: request.choices > 1 || request.body['logprobs'] === true || isRecord(request.body['audio']),
    }),
  encode(request, plan) {
    const encoded = sameProtocol.applies(plan)
      ? sameProtocol.encode(request, plan)
      : translateRequest(toConversation(request), plan)
    return putInlinedBack(encoded, request)
  },
  decoder(request, plan) {
    if (sameProtocol.applies(plan)) return sameProtocol.decoder(request, plan)
    const { isStreamed } = request
    return translateAnswer(plan, isStreamed, () => chatWriter(plan, isStreamed))
  },
})
