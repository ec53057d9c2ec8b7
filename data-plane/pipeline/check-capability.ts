import type { Demand, ModelDemand, ModelTarget, Target } from '#data-plane/call.ts'
import { isImageCapable } from '#shared/catalog/model.ts'
import { AppError } from '#shared/errors.ts'
import { BYTES_A_TOKEN } from './meter-usage.ts'

/** No vocabulary in use has a longer token: so many bytes are at least one. */
const LONGEST_TOKEN_BYTES = 128

/**
 * Refuses what the model itself cannot take, before any money: `model_capability_unsupported` for a parameter or an
 * image, `context_length_exceeded` where no tokeniser could make the call fit.
 */
export function checkCapability(target: Target, demand: Demand): void {
  // What is forwarded is read by its provider alone.
  if (target.kind !== 'model' || demand.kind !== 'model') return
  const { parameters } = target.model
  const missing = demand.needs.parameters?.find((name) => parameters.length > 0 && !parameters.includes(name))
  if (missing !== undefined) {
    throw new AppError('model_capability_unsupported', {
      message: `${target.model.id} does not take ${missing}.`,
      param: missing,
      detail: { capability: missing },
    })
  }
  if (demand.needs.imageInput && !isImageCapable(target.model)) {
    throw new AppError('model_capability_unsupported', {
      message: `${target.model.id} does not take images.`,
      param: inputParamOf(demand),
      detail: { capability: 'vision' },
    })
  }
  checkContext(target, demand)
}

function inputParamOf({ inputParam }: ModelDemand): string {
  return inputParam ?? 'messages'
}

/**
 * Windows are the model's, the same at every offer. Only a proof refuses: what looks too long by an estimate may fit, and
 * the provider, who counts, is asked.
 */
function checkContext(target: ModelTarget, demand: ModelDemand): void {
  const { bounds } = demand
  // Inputs of their own fill a window each; characters and seconds are not counted in tokens.
  if ((bounds.inputs ?? 1) > 1 || bounds.units !== undefined) return
  const { contextLength, maxCompletionTokens } = target.model
  const least = Math.ceil(bounds.inputBytes / LONGEST_TOKEN_BYTES)
  const output = Math.min(bounds.maxOutputTokens ?? 1, maxCompletionTokens)
  if (least + output > contextLength) throw contextError(target, demand, output)
}

/**
 * Too long for the model, in the words that clients know: what was sent, what was asked for, and the limit. Where our
 * estimate of the tokens fits and the provider, who counts them, says otherwise, the words are about who counted.
 */
export function contextError({ model }: ModelTarget, demand: ModelDemand, maxTokens: number): AppError {
  const { bounds } = demand
  const input = Math.ceil(bounds.inputBytes / BYTES_A_TOKEN)
  const limit = model.contextLength
  const total = input + maxTokens
  const asked = `about ${total} tokens (${input} in the messages, ${maxTokens} in the completion)`
  const counted =
    total > limit
      ? `However, you requested ${asked}.`
      : `The provider counted more than fits; by our estimate ${asked}.`
  return new AppError('context_length_exceeded', {
    message: `This model's maximum context length is ${limit} tokens. ${counted}`,
    param: inputParamOf(demand),
    detail: { input_tokens: input, max_tokens: maxTokens, context_length: limit },
  })
}
