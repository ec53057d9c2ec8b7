import type { Decoder, ModelPlan } from '#data-plane/call.ts'
import { wholeAnswer } from '#data-plane/wires/completions/answer-text.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { endMembers } from '#data-plane/wires/openai-frames.ts'
import type { Found } from '#data-plane/wires/whole-answer.ts'
import { foundMalformed, gatherWhole, readWholeAnswer } from '#data-plane/wires/whole-answer.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeUsage } from '#shared/protocols/answers/reported-usage.ts'
import type { NativeChoice } from './choice.ts'
import { readChoice } from './choice.ts'

type Answer = { readonly reported: ReportedUsage; choices: readonly NativeChoice[] }

/** A whole answer of the completions protocol itself: every choice that was asked for, or none. */
export function nativeWholeDecoder(plan: ModelPlan, count: number): Decoder {
  const answer: Answer = { reported: { insaneFields: 0 }, choices: [] }
  const whole = gatherWhole((bytes) => read(answer, bytes, count))
  return {
    ending() {
      const reason = answer.choices.find((choice) => choice.reason === 'length')?.reason ?? answer.choices[0]?.reason
      return {
        reported: answer.reported,
        finishReason: reason === 'length' && plan.isCeilingBound ? 'cost_ceiling_reached' : (reason ?? null),
        contentBytes: whole.contentBytes(),
        reasoningBytes: 0,
      }
    },
    finish(receipt) {
      const choices = answer.choices.map(({ index, text, logprobs, reason }) => {
        const end = endMembers(reason ?? 'stop', reason === 'length' && plan.isCeilingBound)
        return `{"index":${index},"text":${JSON.stringify(text)},"logprobs":${logprobs},${end}}`
      })
      return wholeAnswer(plan, choices.join(','), receipt)
    },
    fail: (error) => openAiErrorBody(error, plan.rid),
    ...whole,
  }
}

function read(answer: Answer, bytes: Buffer, count: number): Found {
  const found = readWholeAnswer(bytes)
  if (found === undefined) return foundMalformed('not a JSON object of a sane depth')
  const failure = errorInside(found.body)
  if (failure) return { failure, contentBytes: 0 }
  const list = found.body['choices']
  const choices = Array.isArray(list) ? list.flatMap((choice) => readChoice(choice) ?? []) : []
  const places = new Set(choices.map(({ index }) => index))
  if (choices.length !== count || places.size !== count || choices.some(({ index }) => index >= count))
    return foundMalformed('not one readable choice for each that was asked for')
  mergeUsage(answer.reported, found.body['usage'])
  answer.choices = choices.sort((left, right) => left.index - right.index)
  return { contentBytes: choices.reduce((total, { text }) => total + Buffer.byteLength(text), 0) }
}
