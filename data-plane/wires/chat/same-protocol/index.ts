import type { ModelPlan } from '#data-plane/call.ts'
import type { ChatRequest } from '#data-plane/wires/chat/read-request.ts'
import type { Wire } from '#data-plane/wires/wire.ts'
import { canServe } from '#shared/protocols/index.ts'
import { encodeChatRequest } from './request.ts'
import { streamDecoder } from './stream.ts'
import { wholeDecoder } from './whole.ts'

/**
 * The way of a chat call whose provider speaks the chat protocol as well. It applies to every such call. The request's
 * own text goes on with a few members edited; the choices of a whole answer stay the provider's own text; a frame's
 * members that may pass are copied to the buyer's frame. It may skip the middle form because nothing has to be
 * translated, and it must, because the middle form has no place for what only this protocol can say: several choices,
 * log probabilities, audio, annotations. Everything that passes is on a list, as in the middle form.
 */
export const sameProtocol: Pick<Wire<ChatRequest>, 'encode' | 'decoder'> & { applies(plan: ModelPlan): boolean } = {
  applies: ({ offer }) => canServe(offer, 'openai'),
  encode: encodeChatRequest,
  decoder: ({ isStreamed, choices }, plan) => (isStreamed ? streamDecoder(plan, choices) : wholeDecoder(plan, choices)),
}
