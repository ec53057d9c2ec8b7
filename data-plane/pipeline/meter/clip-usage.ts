import type { DemandBounds, Ending, ModelDemand, ModelPlan } from '#data-plane/call.ts'
import type { Model } from '#shared/catalog/model.ts'

/** Bytes that count as one token where a provider gives no figure. */
export const BYTES_A_TOKEN = 4
/** Tokens that a provider may add to the input as its own frame around a conversation and its tools. */
export const INPUT_OVERHEAD_TOKENS = 1_024

/** The tokens of so many bytes of text where a provider gives no figure. */
export function estimate(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BYTES_A_TOKEN))
}

/**
 * The most input tokens that a model reads of a call. Each exchange and each input has a context of its own, which a
 * part of unknown size may fill.
 */
export function readableInput(model: Model, bounds: DemandBounds): number {
  const { each, inputs = 1, inputTokens, inputImages, isOpenEnded = false } = bounds
  if (each !== undefined) return each.reduce((tokens, own) => tokens + readableInput(model, own), 0)
  const window = model.contextLength * inputs
  return isOpenEnded ? window : Math.min(inputTokens + inputImages * model.imageTokens, window)
}

/** The input tokens that a provider reports, as far as they can be true. */
export function clipInput(
  { target }: ModelPlan,
  demand: ModelDemand,
  { reported }: Ending,
  anomalies: string[],
): number {
  const bound = readableInput(target.model, demand.bounds) + INPUT_OVERHEAD_TOKENS
  const given = reported.inputTokens ?? 0
  if (given <= bound) return given
  anomalies.push('input_clipped')
  return bound
}
