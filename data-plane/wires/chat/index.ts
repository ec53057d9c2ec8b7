import type { AttemptPlan } from '#data-plane/call.ts'
import { dialectOf } from '#data-plane/dialects/index.ts'
import { isRecord } from '#data-plane/dialects/json-members.ts'
import { chatDecoder } from '#data-plane/dialects/openai-chat/decoder.ts'
import { encodeChatRequest } from '#data-plane/dialects/openai-chat/request.ts'
import { translate } from '#data-plane/dialects/translate.ts'
import { openAiEnvelope, openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import { putInlinedBack } from '#data-plane/wires/inlined-data.ts'
import { textDemand } from '#data-plane/wires/text-demand.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import type { ChatRequest } from './read-request.ts'
import { readChatRequest } from './read-request.ts'
import { toConversation } from './to-conversation.ts'
import { chatWriter } from './writer.ts'

/** OpenAI's chat completions, whole and streamed. */
export const chat: AnyWire = defineWire<ChatRequest>({
  name: 'chat',
  envelope: openAiEnvelope,
  failover: 'until-first-content',
  parse: readChatRequest,
  demand: (request) =>
    textDemand(request, {
      imageInput: request.content.images > 0,
      openAiFormat: request.choices > 1 || request.body['logprobs'] === true || isRecord(request.body['audio']),
    }),
  encode(request, plan) {
    const encoded = speaksChat(plan)
      ? encodeChatRequest(request, ROUTING_FIELDS, plan)
      : dialectOf(plan.offer).encode(toConversation(request), plan)
    return putInlinedBack(encoded, request)
  },
  decoder(request, plan) {
    const { isStreamed } = request
    if (speaksChat(plan)) return chatDecoder({ isStreamed, plan, errorBody: openAiErrorBody })
    return translate(dialectOf(plan.offer).reader(plan, isStreamed), chatWriter(plan, isStreamed), plan)
  },
})

/** True where seller and buyer speak the same protocol: the request's own text goes on. */
function speaksChat({ offer }: AttemptPlan): boolean {
  return offer.apiFormat === 'openai'
}
