import type { Decoder, ModelPlan } from '#data-plane/call.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { endMembers } from '#data-plane/wires/openai-frames.ts'
import type { AnswerFindings } from '#data-plane/wires/whole-answer.ts'
import { foundMalformed, gatherWhole, readWholeAnswer } from '#data-plane/wires/whole-answer.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeAnswerUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { ChoiceReaders, TextChoice } from './choice.ts'
import { thoughtMember } from './choice.ts'

type Answer = { readonly reported: ReportedUsage; choices: readonly TextChoice[]; reasoningBytes: number }

/** The choices of a whole answer without its head and usage: all requested ones, or none. */
export function wholeChoices(plan: ModelPlan, asked: ChoiceReaders): Decoder {
  const answer: Answer = { reported: { insaneFields: 0 }, choices: [], reasoningBytes: 0 }
  const whole = gatherWhole((bytes) => read(answer, bytes, asked))
  return {
    ending() {
      const reason = answer.choices.find((choice) => choice.reason === 'length')?.reason ?? answer.choices[0]?.reason
      return {
        reported: answer.reported,
        finishReason: reason === 'length' && plan.isCeilingBound ? 'cost_ceiling_reached' : (reason ?? null),
        contentBytes: whole.contentBytes(),
        reasoningBytes: answer.reasoningBytes,
      }
    },
    finish() {
      const choices = answer.choices.map(({ index, text, reasoning, logprobs, reason }) => {
        const end = endMembers(reason ?? 'stop', reason === 'length' && plan.isCeilingBound)
        const textMembers = `"text":${JSON.stringify(text)}${thoughtMember(reasoning)}`
        return `{"index":${asked.first + index},${textMembers},"logprobs":${logprobs},${end}}`
      })
      return choices.join(',')
    },
    fail: (error) => openAiErrorBody(error, plan.rid),
    ...whole,
  }
}

function read(answer: Answer, bytes: Buffer, { count, read: readChoice }: ChoiceReaders): AnswerFindings {
  const wholeAnswer = readWholeAnswer(bytes)
  if (wholeAnswer === undefined) return foundMalformed('not a JSON object of a sane depth')
  const failure = errorInside(wholeAnswer.body)
  if (failure) return { failure, contentBytes: 0 }
  const list = wholeAnswer.body['choices']
  const choices = Array.isArray(list) ? list.flatMap((choice, place) => readChoice(choice, place) ?? []) : []
  const places = new Set(choices.map(({ index }) => index))
  if (choices.length !== count || places.size !== count || choices.some(({ index }) => index >= count))
    return foundMalformed('not one readable choice for each that was asked for')
  mergeAnswerUsage(answer.reported, wholeAnswer.body)
  answer.choices = choices.sort((left, right) => left.index - right.index)
  answer.reasoningBytes = choices.reduce((total, { reasoning }) => total + Buffer.byteLength(reasoning), 0)
  const textBytes = choices.reduce((total, { text }) => total + Buffer.byteLength(text), 0)
  return { contentBytes: textBytes + answer.reasoningBytes }
}
