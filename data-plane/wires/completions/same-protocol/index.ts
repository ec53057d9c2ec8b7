import type { Decoder, ModelPlan } from '#data-plane/call.ts'
import { answerOf } from '#data-plane/wires/completions/answer-text.ts'
import { choicesIn } from '#data-plane/wires/completions/choices/either-form.ts'
import { readTextChoice } from '#data-plane/wires/completions/choices/text-choice.ts'
import type { CompletionsRequest } from '#data-plane/wires/completions/read-request.ts'
import { eitherForm } from '#data-plane/wires/either-form.ts'
import type { Wire } from '#data-plane/wires/wire.ts'
import { encodeCompletionsRequest } from './request.ts'

/**
 * The path of a completions call to a provider with the completions protocol. It applies when only that protocol can
 * express the request (log probabilities, an echo, a suffix), and when the model has that protocol and there are
 * several prompts or answers. The request's own text is forwarded, and the choices come back unchanged.
 */
export const sameProtocol: Pick<Wire<CompletionsRequest>, 'encode' | 'decoder'> & {
  applies(request: CompletionsRequest, plan: ModelPlan): boolean
} = {
  applies: ({ nativeMember }, { target }) => nativeMember !== undefined || target.endpoint === 'completions',
  encode: encodeCompletionsRequest,
  decoder,
}

function decoder({ isStreamed, choices }: CompletionsRequest, plan: ModelPlan): Decoder {
  const asked = { first: 0, count: choices, read: readTextChoice }
  return eitherForm(isStreamed, (isEvents) => {
    const inner = choicesIn(plan, isEvents, { isStreamed, streamed: asked, whole: asked })
    return { ...inner, finish: (receipt) => answerOf(plan, isStreamed, inner.finish(receipt), receipt) }
  })
}
