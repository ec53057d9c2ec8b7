import type { ModelDemand } from '#data-plane/call.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { TOKENS_A_MESSAGE } from '#data-plane/wires/text-demand.ts'
import { NO_FORMAT, translateAnswer, translateRequest } from '#data-plane/wires/translate.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import type { CompletionsRequest } from './read-request.ts'
import { readCompletionsRequest } from './read-request.ts'
import { sameProtocol } from './same-protocol/index.ts'
import { toConversation } from './to-conversation.ts'
import { completionsWriter } from './writer.ts'

/**
 * OpenAI's legacy completions. One prompt is put to any seller of text as a conversation; what only the old protocol can
 * say goes, as it came, to sellers of models that still speak it.
 */
export const completions: ModelWire = defineWire<CompletionsRequest>({
  name: 'completions',
  envelope: openAiEnvelope,
  parse: readCompletionsRequest,
  demand: demandOf,
  encode: (request, plan) =>
    sameProtocol.applies(request)
      ? sameProtocol.encode(request, plan)
      : translateRequest(toConversation(request), plan),
  decoder(request, plan) {
    if (sameProtocol.applies(request)) return sameProtocol.decoder(request, plan)
    const { isStreamed } = request
    return translateAnswer(plan, { isStreamed, ...NO_FORMAT }, () => completionsWriter(plan, isStreamed))
  },
})

function demandOf(request: CompletionsRequest): ModelDemand {
  const { prompts, nativeMember } = request
  return {
    endpoint: nativeMember === undefined ? 'chat' : 'completions',
    kind: 'model',
    model: request.model,
    isStreamed: request.isStreamed,
    hints: request.hints,
    floorPercents: request.floorPercents,
    needs: {
      imageInput: false,
      ...(request.wantsLogprobs ? { parameters: ['logprobs'] } : {}),
      ...(nativeMember === undefined ? {} : { completionsFor: nativeMember }),
    },
    inputParam: 'prompt',
    bounds: {
      inputTokens: request.promptBytes + TOKENS_A_MESSAGE * prompts.length,
      inputImages: 0,
      inputs: prompts.length,
      inputBytes: request.promptChars,
      maxOutputTokens: request.maxTokens,
      choices: request.choices,
    },
    maxCostMicro: request.maxCostMicro,
  }
}
