import { chatDecoder } from '#data-plane/dialects/openai-chat/decoder.ts'
import { encodeChatRequest } from '#data-plane/dialects/openai-chat/request.ts'
import { openAiEnvelope, openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import type { ChatRequest } from './read-request.ts'
import { readChatRequest } from './read-request.ts'

/** Tokens that the frame around each message may cost. */
const TOKENS_A_MESSAGE = 64

/** OpenAI's chat completions, whole and streamed. */
export const chat: AnyWire = defineWire<ChatRequest>({
  name: 'chat',
  envelope: openAiEnvelope,
  failover: 'until-first-content',
  parse: readChatRequest,
  demand: (request) => ({
    endpoint: 'chat',
    model: request.model,
    isStreamed: request.isStreamed,
    hints: request.hints,
    floorPercents: request.floorPercents,
    needs: { imageInput: request.content.images > 0 },
    bounds: {
      inputTokens: request.textBytes + TOKENS_A_MESSAGE * request.messageCount,
      inputImages: request.content.images,
      inputBytes: request.content.spokenChars,
      maxOutputTokens: request.maxTokens,
      choices: request.choices,
    },
    maxCostMicro: request.maxCostMicro,
  }),
  encode: (request, plan) => encodeChatRequest(request, ROUTING_FIELDS, plan),
  decoder: (request, plan) => chatDecoder({ isStreamed: request.isStreamed, plan, errorBody: openAiErrorBody }),
})
