import type { Decoder, ModelPlan } from '#data-plane/call.ts'
import { openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { costMembers } from '#data-plane/wires/usage-json.ts'
import type { AnswerFindings } from '#data-plane/wires/whole-answer.ts'
import { foundMalformed, gatherWhole, readWholeAnswer } from '#data-plane/wires/whole-answer.ts'
import { memberText } from '#shared/json-members.ts'
import { errorInside } from '#shared/protocols/answers/openai-answer.ts'
import type { ReportedUsage } from '#shared/protocols/answers/reported-usage.ts'
import { mergeAnswerUsage } from '#shared/protocols/answers/reported-usage.ts'
import { embeddingsCodecOf } from '#shared/protocols/index.ts'
import { inputTokens } from '#shared/usage.ts'
import type { EmbeddingsRequest } from './read-request.ts'
import { readVectors, writeVectors } from './vectors.ts'

type Answer = { readonly reported: ReportedUsage; data: string }

/**
 * Vectors come whole. The provider's text is used if it has the requested encoding; other vectors are written anew.
 */
export function embeddingsDecoder(request: EmbeddingsRequest, plan: ModelPlan): Decoder {
  const answer: Answer = { reported: { insaneFields: 0 }, data: '[]' }
  const whole = gatherWhole((bytes) => read(answer, bytes, request, plan))
  return {
    ending: () => ({
      reported: answer.reported,
      finishReason: null,
      contentBytes: whole.contentBytes(),
      reasoningBytes: 0,
    }),
    finish(receipt) {
      const { target, offer } = plan
      const tokens = inputTokens(receipt.usage)
      return (
        `{"object":"list","data":${answer.data},"model":${JSON.stringify(target.id)},` +
        `"provider":${JSON.stringify(offer.provider)},` +
        `"usage":{"prompt_tokens":${tokens},"total_tokens":${tokens},${costMembers(receipt)}}}`
      )
    },
    fail: (error) => openAiErrorBody(error, plan.rid),
    ...whole,
  }
}

function read(
  answer: Answer,
  bytes: Buffer,
  { inputs, encoding }: EmbeddingsRequest,
  { offer }: ModelPlan,
): AnswerFindings {
  const wholeAnswer = readWholeAnswer(bytes)
  if (wholeAnswer === undefined) return foundMalformed('not a JSON object of a sane depth')
  const { text, members, body } = wholeAnswer
  const failure = errorInside(body)
  if (failure) return { failure, contentBytes: 0 }
  const codec = embeddingsCodecOf(offer)
  const data = codec === undefined ? body['data'] : codec.read(body, answer.reported)
  const vectors = readVectors(data, inputs.count, encoding)
  if (vectors === undefined) return foundMalformed('not one vector for each input')
  if (codec === undefined) mergeAnswerUsage(answer.reported, body)
  answer.data = vectors.isAsAsked ? (memberText(text, members, 'data') ?? '[]') : writeVectors(vectors, encoding)
  return { contentBytes: vectors.bytes }
}
