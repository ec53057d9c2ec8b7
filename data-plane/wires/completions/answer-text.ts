import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import { streamEnd } from '#data-plane/wires/openai-frames.ts'
import { chatUsageJson } from '#data-plane/wires/usage-json.ts'

/** The beginning of every frame of a streamed answer, up to the first of its choices. */
export function frameHead(plan: ModelPlan): string {
  return `data: ${answerHead(plan)}`
}

function answerHead({ rid, createdAt, target, offer }: ModelPlan): string {
  return (
    `{"id":"cmpl-${rid}","object":"text_completion","created":${createdAt},` +
    `"model":${JSON.stringify(target.id)},"provider":${JSON.stringify(offer.provider)},"choices":[`
  )
}

/** A piece of one choice; the members of `extra` begin with a comma. */
export function pieceText(index: number, text: string, extra = ''): string {
  return `{"index":${index},"text":${JSON.stringify(text)}${extra},"logprobs":null,"finish_reason":null}`
}

/** The last bytes of an answer: the last frames of a stream, or these choices as a whole answer. */
export function answerOf(plan: ModelPlan, isStreamed: boolean, choices: string, receipt: Receipt): string {
  if (isStreamed) return choices + streamEnd(frameHead(plan), receipt)
  return `${answerHead(plan)}${choices}],"usage":${chatUsageJson(receipt)}}`
}
