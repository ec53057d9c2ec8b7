import type { AttemptPlan } from '#data-plane/call.ts'
import { dialectOf } from '#data-plane/dialects/index.ts'
import { encodeMessagesRequest } from '#data-plane/dialects/messages/request.ts'
import { translate } from '#data-plane/dialects/translate.ts'
import { messagesEnvelope } from '#data-plane/wires/envelopes/messages.ts'
import { ROUTING_FIELDS } from '#data-plane/wires/hints.ts'
import { putInlinedBack } from '#data-plane/wires/inlined-data.ts'
import { textDemand } from '#data-plane/wires/text-demand.ts'
import type { AnyWire } from '#data-plane/wires/wire.ts'
import { defineWire } from '#data-plane/wires/wire.ts'
import { estimateTokens } from './count-tokens.ts'
import type { MessagesRequest } from './read-request.ts'
import { readMessagesRequest } from './read-request.ts'
import { toConversation } from './to-conversation.ts'
import { messagesWriter } from './writer.ts'

/** The messages wire, whole and streamed. */
export const messages: AnyWire = defineWire<MessagesRequest>({
  name: 'messages',
  envelope: messagesEnvelope,
  failover: 'until-first-content',
  parse: readMessagesRequest,
  demand: textDemand,
  encode(request, plan) {
    const encoded = speaksMessages(plan)
      ? encodeMessagesRequest(request, ROUTING_FIELDS, plan)
      : dialectOf(plan.offer).encode(toConversation(request), plan)
    return putInlinedBack(encoded, request)
  },
  decoder(request, plan) {
    const { isStreamed } = request
    const reader = dialectOf(plan.offer).reader(plan, isStreamed)
    const showsThoughts = speaksMessages(plan)
    const inputEstimate = isStreamed ? estimateTokens(request) : 0
    const writer = messagesWriter({ plan, isStreamed, showsThoughts, inputEstimate, reported: reader.reported })
    return translate(reader, writer, plan)
  },
})

/** True where seller and buyer speak the same protocol: the request's own text goes on. */
function speaksMessages({ offer }: AttemptPlan): boolean {
  return offer.apiFormat === 'messages'
}
