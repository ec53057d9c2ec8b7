import { costlyOf } from '#data-plane/wires/content.ts'
import { messagesEnvelope } from '#data-plane/wires/envelopes/messages.ts'
import { putInlinedBack } from '#data-plane/wires/inlined-data.ts'
import { textDemand } from '#data-plane/wires/text-demand.ts'
import { needsTool, translateAnswer, translateRequest } from '#data-plane/wires/translate.ts'
import { withWholeIntegers } from '#data-plane/wires/whole-integers.ts'
import type { ModelWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import { isGiven } from '#shared/json-members.ts'
import { chatCodecOf } from '#shared/protocols/index.ts'
import { estimateTokens } from './count-tokens.ts'
import type { MessagesRequest } from './read-request.ts'
import { readMessagesRequest } from './read-request.ts'
import { encodeMessagesRequest, sameProtocolOf } from './same-protocol.ts'
import { searchesOf } from './search-tools.ts'
import { askedOf, formatOf, toConversation } from './to-conversation.ts'
import { messagesWriter } from './writer.ts'

/** The messages wire, whole and streamed. */
export const messages: ModelWire = defineWire<MessagesRequest>({
  name: 'messages',
  envelope: messagesEnvelope,
  parse: readMessagesRequest,
  demand(request) {
    const searches = searchesOf(request.body['tools'])
    const needs = {
      imageInput: request.content.images > 0,
      costly: costlyOf(request.askedMembers, request.content),
      ...(searches !== undefined && { searches }),
    }
    return textDemand(
      request,
      formatOf(request.body) === undefined ? needs : { ...needs, formatParam: 'output_config' },
    )
  },
  encode(request, plan) {
    const form = sameProtocolOf(plan)
    const encoded =
      form !== undefined && !needsTool(formatOf(request.body), plan, isGiven(request.body['tools']))
        ? encodeMessagesRequest(request, plan, form)
        : translateRequest(toConversation(request), plan)
    return putInlinedBack(withWholeIntegers(encoded, request), request)
  },
  decoder(request, plan) {
    const { isStreamed } = request
    const showsThoughts = chatCodecOf(plan.offer).signsThoughts === true
    const inputEstimate = isStreamed ? estimateTokens(request) : 0
    return translateAnswer(plan, askedOf(request), (reported) =>
      messagesWriter({ plan, isStreamed, showsThoughts, inputEstimate, reported }),
    )
  },
})
