import type { ModelPlan, Receipt } from '#data-plane/call.ts'
import type { AnswerWriter, WrittenEnd } from '#data-plane/wires/answer-writer.ts'
import { openAiError, openAiErrorBody } from '#data-plane/wires/envelopes/openai.ts'
import { KEEP_ALIVE } from '#data-plane/wires/openai-frames.ts'
import type { AnswerReader } from '#shared/protocols/middle-form/answer.ts'
import { createOutput } from './output.ts'
import type { ResponsesRequest } from './read-request.ts'
import { responseWriter, usageText } from './response-object.ts'

/** Writes an answer as a response object, or as the events that lead to one. */
export function responsesWriter(
  request: ResponsesRequest,
  plan: ModelPlan,
  reported: AnswerReader['reported'],
): AnswerWriter {
  const { isStreamed } = request.conversation
  const { wantsSealed } = request
  const response = responseWriter(request, plan, reported)
  const output = createOutput({ plan, response, isStreamed, wantsSealed })
  return {
    write: (event) => output.take(event),
    finish(receipt, end) {
      const status = isCutShort(end) ? 'incomplete' : 'completed'
      const events = output.close(isCutShort(end))
      const whole = (items: string) => response({ status, output: items, ...endMembers(receipt, end) })
      return isStreamed ? events + output.end(status, whole) : whole(output.items())
    },
    fail(error) {
      if (!isStreamed) return openAiErrorBody(error, plan.rid)
      const failure = JSON.stringify(openAiError(error, plan.rid))
      return output.end('failed', (items) => response({ status: 'failed', output: items, error: failure }))
    },
    keepAlive: () => (isStreamed ? KEEP_ALIVE : ''),
  }
}

/** True for an answer that was cut off. */
export function isCutShort({ reason }: WrittenEnd): boolean {
  return reason === 'length' || reason === 'contentFilter'
}

/** The members of a response with its usage and the reason of an early end. */
export function endMembers(
  receipt: Receipt,
  { reason, isCeiling }: WrittenEnd,
): { usage: string; incompleteDetails?: string } {
  const usage = usageText(receipt)
  if (reason === 'contentFilter') return { usage, incompleteDetails: '{"reason":"content_filter"}' }
  if (reason !== 'length') return { usage }
  const native = isCeiling ? ',"native_finish_reason":"cost_ceiling_reached"' : ''
  return { usage, incompleteDetails: `{"reason":"max_output_tokens"${native}}` }
}
