import type { ModelPlan } from '#data-plane/call.ts'
import { costlyOf } from '#data-plane/wires/content.ts'
import { openAiEnvelope } from '#data-plane/wires/envelopes/openai.ts'
import { putInlinedBack } from '#data-plane/wires/inlined-data.ts'
import { predicts, textDemand } from '#data-plane/wires/text-demand.ts'
import { needsTool, translateAnswer, translateRequest } from '#data-plane/wires/translate.ts'
import { withWholeIntegers } from '#data-plane/wires/whole-integers.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import { isGiven, isRecord } from '#shared/json-members.ts'
import { chatCodecOf } from '#shared/protocols/index.ts'
import type { ChatRequest } from './read-request.ts'
import { readChatRequest } from './read-request.ts'
import { sameProtocol } from './same-protocol/index.ts'
import { askedOf, formatOf, toConversation } from './to-conversation.ts'
import { chatWriter } from './writer.ts'

/** True for images that Alibaba's models read at a resolution whose tokens only they count. */
function seesFinely({ body, content }: ChatRequest): boolean {
  return content.images > 0 && body['vl_high_resolution_images'] === true
}

/** OpenAI's chat completions, whole and streamed. */
export const chat: ModelWire = defineWire<ChatRequest>({
  name: 'chat',
  envelope: openAiEnvelope,
  parse: readChatRequest,
  demand(request) {
    const demand = textDemand(request, {
      imageInput: request.content.images > 0,
      costly: costlyOf(request.askedMembers, request.content),
      ...(formatOf(request) === undefined ? {} : { formatParam: 'response_format' }),
      ...(request.wantsPictures ? { picturesParam: 'modalities' } : {}),
      openAiFormat:
        request.choices > 1 ||
        request.body['logprobs'] === true ||
        isRecord(request.body['audio']) ||
        request.wantsPictures ||
        request.content.otherKinds !== undefined,
    })
    const isPredicted = predicts(request.body)
    const isOpenEnded = seesFinely(request)
    if (!isPredicted && !isOpenEnded) return demand
    const bounds = { ...demand.bounds, ...(isPredicted && { isPredicted }), ...(isOpenEnded && { isOpenEnded }) }
    return { ...demand, bounds }
  },
  encode(request, plan) {
    const encoded = withWholeIntegers(
      isUntranslated(request, plan)
        ? sameProtocol.encode(request, plan)
        : translateRequest(toConversation(request), plan),
      request,
    )
    const { custom } = request
    return putInlinedBack(
      custom === undefined || chatCodecOf(plan.offer).saysCustomTools === true
        ? encoded
        : { ...encoded, adaptedParams: [...encoded.adaptedParams, ...custom.adaptedParams] },
      request,
    )
  },
  decoder(request, plan) {
    // Calls of custom tools are parsed in the middle form, for any protocol of the provider.
    if (request.custom === undefined && isUntranslated(request, plan)) return sameProtocol.decoder(request, plan)
    return translateAnswer(plan, askedOf(request), () => chatWriter(plan, request.isStreamed))
  },
})

/** A format that needs a tool is parsed through the middle form, for any protocol of the provider. */
function isUntranslated(request: ChatRequest, plan: ModelPlan): boolean {
  return sameProtocol.applies(plan) && !needsTool(formatOf(request), plan, isGiven(request.body['tools']))
}
