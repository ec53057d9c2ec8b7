import type { RawRequest } from '#data-plane/call.ts'
import type { LocalCaller } from '#data-plane/pipeline/answer-locally.ts'
import { countTokens } from '#data-plane/wires/messages/count-tokens.ts'
import { AppError } from '#shared/errors.ts'

/**
 * Counts the input tokens of a messages call for a known model. Throws the errors of the parser, and `unknown_model`.
 */
export function answerTokenCount(raw: RawRequest, { plane }: LocalCaller): string {
  const { model, tokens } = countTokens(raw)
  if (!plane.market().resolve(model)) throw new AppError('unknown_model', { param: 'model' })
  return JSON.stringify({ input_tokens: tokens })
}
