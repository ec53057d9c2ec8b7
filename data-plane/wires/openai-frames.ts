import type { Receipt } from '#data-plane/call.ts'
import type { AppError } from '#shared/errors.ts'
import type { RequestId } from '#shared/ids.ts'
import { openAiErrorBody } from './envelopes/openai.ts'
import { chatUsageJson } from './usage-json.ts'

/**
 * The bytes that the OpenAI wires send during a silence: a comment line, which no reader takes for an event, not even
 * an empty one.
 */
export const KEEP_ALIVE = ': keep-alive\n'

const DONE_MARK = 'data: [DONE]\n\n'

/** The error as the last event of a stream. */
export function errorFrame(error: AppError, rid: RequestId): string {
  return `data: ${openAiErrorBody(error, rid)}\n\n`
}

/** The end of a stream of choices that has failed. */
export function failedStream(error: AppError, rid: RequestId): string {
  return errorFrame(error, rid) + DONE_MARK
}

/** The end of a stream of choices: one frame with the usage and its cost, and the end mark. */
export function streamEnd(head: string, receipt: Receipt): string {
  return `${head}],"usage":${chatUsageJson(receipt)}}\n\n${DONE_MARK}`
}

/** The members with the reason why a choice ended. */
export function endMembers(reason: string, isCeiling: boolean): string {
  return `"finish_reason":"${reason}"${isCeiling ? ',"native_finish_reason":"cost_ceiling_reached"' : ''}`
}
