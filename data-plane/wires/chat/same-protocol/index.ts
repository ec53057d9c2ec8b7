import type { AttemptPlan } from '#data-plane/call.ts'
import type { ChatRequest } from '#data-plane/wires/chat/read-request.ts'
import type { Wire } from '#data-plane/wires/wire.ts'
import { encodeChatRequest } from './request.ts'
import { streamDecoder } from './stream.ts'
import { wholeDecoder } from './whole.ts'

/**
 * The short way of a chat call whose provider speaks the chat protocol as well. It applies to every such call, because
 * nothing has to be translated there: the buyer's text goes on with few members edited, and the members of an answer
 * that may pass are copied from frame to frame. The middle form would build events in between and would lose what only
 * this protocol can say: several choices, log probabilities, audio, annotations.
 */
export const sameProtocol: Pick<Wire<ChatRequest>, 'encode' | 'decoder'> & { applies(plan: AttemptPlan): boolean } = {
  applies: ({ offer }) => offer.apiFormat === 'openai',
  encode: encodeChatRequest,
  decoder: ({ isStreamed }, plan) => (isStreamed ? streamDecoder(plan) : wholeDecoder(plan)),
}
