import type { Ending, ModelDemand, ModelPlan } from '#data-plane/call.ts'

/** Bytes that count as one token where a provider gives no figure. */
export const BYTES_A_TOKEN = 4
/** Tokens that a provider may add to the input as its own frame around a conversation and its tools. */
const INPUT_OVERHEAD_TOKENS = 1_024

/** The tokens of so many bytes of text where a provider gives no figure. */
export function estimate(bytes: number): number {
  return Math.max(1, Math.ceil(bytes / BYTES_A_TOKEN))
}

/** The input tokens that a provider reports, as far as they can be true. */
export function clipInput(
  { target }: ModelPlan,
  demand: ModelDemand,
  { reported }: Ending,
  anomalies: string[],
): number {
  const { inputTokens: bytes, inputImages, inputs = 1 } = demand.bounds
  const { imageTokens, contextLength } = target.model
  const sent = bytes + inputImages * imageTokens
  const bound = Math.min(sent, contextLength * inputs) + INPUT_OVERHEAD_TOKENS
  const given = reported.inputTokens ?? 0
  if (given <= bound) return given
  anomalies.push('input_clipped')
  return bound
}
