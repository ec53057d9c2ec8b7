import type { Decoder, ModelPlan, UpstreamRequest } from '#data-plane/call.ts'
import { readChatChoice, readChatPiece } from '#data-plane/wires/completions/choices/chat-choice.ts'
import { choicesIn } from '#data-plane/wires/completions/choices/either-form.ts'
import type { CompletionsRequest } from '#data-plane/wires/completions/read-request.ts'
import { toConversation } from '#data-plane/wires/completions/to-conversation.ts'
import { choiceWriter, completionsWriter } from '#data-plane/wires/completions/writer.ts'
import { eitherForm } from '#data-plane/wires/either-form.ts'
import { NO_FORMAT, translateAnswer, translateRequest } from '#data-plane/wires/translate.ts'
import type { Wire } from '#data-plane/wires/wire.ts'
import { joinedAnswers } from './joined-answers.ts'

/**
 * The path of a completions call to a chat model: a chat call for each prompt, one after another, each with all answers
 * to its prompt. Answer j to prompt i of n answers each is the choice i * n + j.
 */
export const inChat: Pick<Wire<CompletionsRequest>, 'encode' | 'decoder'> = { encode, decoder }

function encode(request: CompletionsRequest, plan: ModelPlan): UpstreamRequest {
  const [first = '', ...others] = request.prompts
  const head = translateRequest(toConversation(request, first), plan)
  if (others.length === 0) return head
  return { ...head, following: others.map((prompt) => translateRequest(toConversation(request, prompt), plan)) }
}

function decoder(request: CompletionsRequest, plan: ModelPlan): Decoder {
  const { isStreamed, prompts, choices } = request
  if (choices === 1) {
    return translateAnswer(plan, { isStreamed, ...NO_FORMAT }, () => completionsWriter(plan, isStreamed))
  }
  const answers = prompts.map((_prompt, place) => answerTo(request, plan, place))
  return joinedAnswers(plan, isStreamed, answers)
}

/** The choices of one prompt. Several come in OpenAI's protocol alone. */
function answerTo({ isStreamed, perPrompt }: CompletionsRequest, plan: ModelPlan, place: number): Decoder {
  const first = place * perPrompt
  if (perPrompt === 1) {
    return translateAnswer(plan, { isStreamed, ...NO_FORMAT }, () => choiceWriter(plan, first, isStreamed))
  }
  const streamed = { first, count: perPrompt, read: readChatPiece }
  const whole = { first, count: perPrompt, read: readChatChoice }
  return eitherForm(isStreamed, (isEvents) => choicesIn(plan, isEvents, { isStreamed, streamed, whole }))
}
