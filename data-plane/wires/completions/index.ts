import type { DemandBounds, ModelDemand, ModelPlan } from '#data-plane/call.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { predicts, TOKENS_A_MESSAGE } from '#data-plane/wires/text-demand.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import { inChat } from './in-chat/index.ts'
import type { CompletionsRequest } from './read-request.ts'
import { readCompletionsRequest } from './read-request.ts'
import { sameProtocol } from './same-protocol/index.ts'

/**
 * OpenAI's legacy completions. Any seller of text gets a single prompt as a conversation. Several prompts or answers go
 * unchanged to sellers of models with the old protocol, and to a chat model as a chat call for each prompt. A request
 * with parameters of the old protocol goes only to models with that protocol.
 */
export const completions: ModelWire = defineWire<CompletionsRequest>({
  name: 'completions',
  envelope: openAiEnvelope,
  parse: readCompletionsRequest,
  demand: demandOf,
  encode: (request, plan) => wayOf(request, plan).encode(request, plan),
  decoder: (request, plan) => wayOf(request, plan).decoder(request, plan),
})

function wayOf(request: CompletionsRequest, plan: ModelPlan): typeof inChat {
  return sameProtocol.applies(request, plan) ? sameProtocol : inChat
}

function demandOf(request: CompletionsRequest): ModelDemand {
  const { prompts, choices, nativeMember } = request
  const bounds: DemandBounds = {
    inputTokens: request.promptBytes + TOKENS_A_MESSAGE * prompts.length,
    inputImages: 0,
    inputs: prompts.length,
    inputBytes: request.promptChars,
    maxOutputTokens: request.maxTokens,
    choices,
    ...(predicts(request.json.body) && { isPredicted: true }),
  }
  const demand: ModelDemand = {
    endpoint: nativeMember === undefined && choices === 1 ? 'chat' : 'completions',
    kind: 'model',
    model: request.model,
    isStreamed: request.isStreamed,
    hints: request.hints,
    floorPercents: request.floorPercents,
    needs: {
      imageInput: false,
      costly: request.askedMembers.costly,
      ...(request.wantsLogprobs ? { parameters: ['logprobs'] } : {}),
      ...(nativeMember === undefined ? {} : { completionsFor: nativeMember }),
    },
    inputParam: 'prompt',
    bounds,
    maxCostMicro: request.maxCostMicro,
  }
  if (choices === 1 || nativeMember !== undefined) return demand
  return { ...demand, otherwise: { ...demand, ...chatDemand(request, bounds) } }
}

/** The parts of the demand that differ for a chat model, which is called once for each prompt. */
function chatDemand(
  { prompts, perPrompt, maxTokens, askedMembers }: CompletionsRequest,
  bounds: DemandBounds,
): Pick<ModelDemand, 'endpoint' | 'needs' | 'bounds'> {
  const each = prompts.map((prompt) => ({
    inputTokens: Buffer.byteLength(prompt) + TOKENS_A_MESSAGE,
    inputImages: 0,
    inputBytes: prompt.length,
    maxOutputTokens: maxTokens,
    choices: perPrompt,
  }))
  return {
    endpoint: 'chat',
    needs: { imageInput: false, costly: askedMembers.costly, ...(perPrompt > 1 ? { openAiFormat: true } : {}) },
    bounds: { ...bounds, each },
  }
}
