import type { Ending, Metered, ModelDemand, ModelPlan } from '#data-plane/call.ts'
import { unpricedClasses } from '#shared/pricing.ts'
import type { SpokenText } from '#shared/spoken-text.ts'
import { likelySpokenTokens, mostSpokenTokens } from '#shared/spoken-text.ts'
import type { Usage } from '#shared/usage.ts'
import { estimate } from './clip-usage.ts'

/**
 * Meters a voice that is sold by tokens of text and of sound. It takes the provider's figures, at most those of the hold.
 * Without a figure it takes what the text itself shows. An answer without sound consumed nothing.
 */
export function meterSpeech(plan: ModelPlan, demand: ModelDemand, text: SpokenText, ending: Ending): Metered {
  const { reported, finishReason, contentBytes } = ending
  const { model, price } = plan.target
  const anomalies: string[] = []
  if (reported.insaneFields > 0) anomalies.push('usage_insane')
  if (contentBytes === 0) return { usage: {}, source: 'reported', finishReason, anomalies }
  const { inputTokens, outputTokens } = reported
  const isReported = inputTokens !== undefined && outputTokens !== undefined
  if (!isReported) anomalies.push('usage_missing')
  const most = mostSpokenTokens(text, model.maxCompletionTokens)
  if ((inputTokens ?? 0) > text.inputTokens) anomalies.push('input_clipped')
  if ((outputTokens ?? 0) > most) anomalies.push('output_clipped')
  const usage: Usage = {
    input: Math.min(inputTokens ?? estimate(demand.bounds.inputBytes), text.inputTokens),
    audioOutput: Math.min(outputTokens ?? likelySpokenTokens(text), most),
  }
  for (const name of unpricedClasses(price.unitPrices, usage)) anomalies.push(`unpriced_${name}`)
  return { usage, source: isReported ? 'reported' : 'estimated', finishReason, anomalies }
}
