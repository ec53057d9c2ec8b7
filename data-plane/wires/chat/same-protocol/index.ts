import type { ModelPlan } from '#data-plane/call.ts'
import { wholeHead } from '#data-plane/wires/chat/frames.ts'
import type { ChatRequest } from '#data-plane/wires/chat/read-request.ts'
import { eitherForm } from '#data-plane/wires/either-form.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { framedObject } from '#data-plane/wires/framed-object.ts'
import type { JoinedWire } from '#data-plane/wires/joined-frames.ts'
import { joinedFrames } from '#data-plane/wires/joined-frames.ts'
import { chatUsageJson } from '#data-plane/wires/usage-json.ts'
import type { Wire } from '#data-plane/wires/wire.ts'
import { canServe } from '#shared/protocols/index.ts'
import { encodeChatRequest } from './request.ts'
import { streamDecoder } from './stream.ts'
import { wholeDecoder } from './whole.ts'

function wholeWire(plan: ModelPlan): JoinedWire {
  return {
    finish: (choices, receipt) =>
      `${wholeHead(plan)}[${choices}],"usage":${chatUsageJson(receipt)},"system_fingerprint":null}`,
    fail: (error) => openAiErrorBody(error, plan.rid),
  }
}

/**
 * The path of a chat call whose provider speaks the chat protocol, too. It applies to every such call. The request's
 * own text is forwarded with a few members edited; the choices of a whole answer stay the provider's own text; a
 * frame's permitted members are copied to the buyer's frame. It may skip the middle form because nothing has to be
 * translated, and it must, because the middle form has no place for features of this protocol alone: several choices,
 * log probabilities, audio, annotations. Everything that passes is on a list, as in the middle form.
 */
export const sameProtocol: Pick<Wire<ChatRequest>, 'encode' | 'decoder'> & { applies(plan: ModelPlan): boolean } = {
  applies: ({ offer }) => canServe(offer, 'openai'),
  encode: encodeChatRequest,
  decoder: ({ isStreamed, choices }, plan) =>
    eitherForm(isStreamed, (isEvents) => {
      if (isEvents) {
        const stream = streamDecoder(plan, choices)
        return isStreamed ? stream : joinedFrames(stream, wholeWire(plan))
      }
      return isStreamed ? framedObject(streamDecoder(plan, choices)) : wholeDecoder(plan, choices)
    }),
}
