import type { AttemptPlan, Receipt } from '#data-plane/call.ts'
import { chatUsageJson } from '#data-plane/dialects/usage.ts'

/** A comment with a single newline: it dispatches no event, not even an empty one. */
export const KEEP_ALIVE = ': keep-alive\n'

/** What every object of one answer begins with, up to its choices. */
export function answerHead({ rid, createdAt, target }: AttemptPlan): string {
  return (
    `{"id":"cmpl-${rid}","object":"text_completion","created":${createdAt},` +
    `"model":${JSON.stringify(target.model.id)},"choices":[`
  )
}

/** A piece of one choice; the members of `extra` begin with a comma. */
export function pieceText(index: number, text: string, extra = ''): string {
  return `{"index":${index},"text":${JSON.stringify(text)}${extra},"logprobs":null,"finish_reason":null}`
}

/** The members that say why a choice ended. */
export function endMembers(reason: string, isCeiling: boolean): string {
  return `"finish_reason":"${reason}"${isCeiling ? ',"native_finish_reason":"cost_ceiling_reached"' : ''}`
}

/** The end of a stream: one frame with the usage and its cost, and the end mark. */
export function streamEnd(head: string, receipt: Receipt): string {
  return `data: ${head}],"usage":${chatUsageJson(receipt)}}\n\ndata: [DONE]\n\n`
}

/** A whole answer with these choices. */
export function wholeAnswer(plan: AttemptPlan, choices: string, receipt: Receipt): string {
  return `${answerHead(plan)}${choices}],"usage":${chatUsageJson(receipt)}}`
}
